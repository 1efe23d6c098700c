/* Which pieces may come next: decoding/characters.py in C. Bytes come together as characters of
 * UTF-8, and none is begun that would not be finished; BOS, PAD, UNK and control characters never
 * come. */
#include <string.h>

#include "search.h"

typedef struct {
    int left, first, last; /* bytes still to come, and what the next one may be */
} inside;

static const inside INSIDE[JM_STATES] = {
    {0, 0, 0},       {1, 0x80, 0xbf}, {2, 0x80, 0xbf}, {3, 0x80, 0xbf},
    {2, 0xa0, 0xbf}, {2, 0x80, 0x9f}, {3, 0x90, 0xbf}, {3, 0x80, 0x8f},
};

/* The state after the first byte of a character; 0: it begins none that goes on. */
static int begun(int byte) {
    switch (byte) {
        case 0xe0: return 4;
        case 0xed: return 5;
        case 0xf0: return 6;
        case 0xf4: return 7;
        default: return byte < 0xc2 || byte > 0xf4 ? 0 : 1 + (byte >= 0xe0) + (byte >= 0xf0);
    }
}

/* Whether a byte may come between two characters, with so much room left. */
static int may_begin(int byte, int room) {
    if (byte < 0x80) return byte >= 0x20 && byte != 0x7f;
    const int state = begun(byte);
    return state > 0 && room > INSIDE[state].left;
}

int32_t jm_filter_room(int32_t room) { return room < JM_ROOMS - 1 ? room : JM_ROOMS - 1; }

int32_t jm_filter_after(const jm_filter *f, int32_t state, int32_t token) {
    return token < JM_LEARNED_ID ? f->next[state][token] : 0;
}

int jm_filter_list(const jm_filter *f, int32_t state, int32_t room, int no_end, const int32_t *ids,
                   int32_t n, int more, uint8_t *mask) {
    const uint8_t *usual = f->usual[state][room];
    int learned = more && state == 0, any = learned;
    int32_t ends = -1;
    for (int32_t j = 0; j < n; j++) {
        mask[j] = usual[ids[j]];
        any |= mask[j];
        if (ids[j] == JM_EOS) ends = j;
    }
    if (!any) {
        for (int32_t j = 0; j < n; j++) mask[j] = 1;
        learned = more;
    }
    if (no_end && ends >= 0) {
        int others = learned;
        for (int32_t j = 0; j < n; j++) others |= mask[j] && j != ends;
        if (others) mask[ends] = 0;
    }
    return learned;
}

void jm_filter_make(jm_filter *f, int32_t vocab) {
    int32_t ids[JM_LEARNED_ID];
    memset(f, 0, sizeof *f);
    for (int32_t id = 0; id < JM_LEARNED_ID; id++) {
        const int byte = id - JM_FIRST_BYTE;
        ids[id] = id;
        if (byte >= 0) f->next[0][id] = (uint8_t)begun(byte);
        for (int room = 0; room < JM_ROOMS; room++)
            f->usual[0][room][id] = id == JM_EOS || (byte >= 0 && may_begin(byte, room));
        for (int state = 1; state < JM_STATES; state++) {
            const inside *in = &INSIDE[state];
            if (byte < in->first || byte > in->last) continue;
            f->next[state][id] = (uint8_t)(in->left - 1);
            for (int room = 0; room < JM_ROOMS; room++) f->usual[state][room][id] = 1;
        }
    }
    const int32_t n = vocab < JM_LEARNED_ID ? vocab : JM_LEARNED_ID;
    for (int state = 0; state < JM_STATES; state++) {
        for (int room = 0; room < JM_ROOMS; room++) {
            for (int no_end = 0; no_end < 2; no_end++) {
                uint8_t *mask = f->mask[state][room][no_end];
                const int learned = jm_filter_list(f, state, room, no_end, ids, n, vocab > n, mask);
                f->learned[state][room][no_end] = (uint8_t)learned;
                memset(mask + n, learned, (size_t)(JM_STRIPE - n));
            }
        }
    }
}
