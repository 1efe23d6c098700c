/* Phrases that answers must contain, and texts that they must not: decoding/constraints.py in C.
 *
 * Phrases are found in the bytes of an answer. Of each hypothesis its last bytes and tokens are
 * kept, as many as the longest phrase needs. */
#include <stdlib.h>
#include <string.h>

#include "search.h"

/* How far a hypothesis has come; its last tokens and its last bytes stand behind this. */
typedef struct {
    uint64_t met; /* bit i: it has phrase i of its sentence */
    int32_t tokens, bytes;
} progress;

enum { BEFORE = 5 }; /* bytes kept in front of a phrase: its space, and the character before */

static int32_t *tokens_of(void *p) { return (int32_t *)((char *)p + sizeof(progress)); }

static const int32_t *const_tokens(const void *p) {
    return (const int32_t *)((const char *)p + sizeof(progress));
}

static uint8_t *bytes_of(const jm_phrasing *g, void *p) {
    return (uint8_t *)(tokens_of(p) + g->most_tokens);
}

static const uint8_t *const_bytes(const jm_phrasing *g, const void *p) {
    return (const uint8_t *)(const_tokens(p) + g->most_tokens);
}

static const uint8_t *piece_of(const jm_phrases *p, int32_t id, int64_t *n) {
    *n = p->piece_offsets[id + 1] - p->piece_offsets[id];
    return p->pieces + p->piece_offsets[id];
}

static const uint8_t *text_of(const jm_phrases *p, int64_t text, int64_t *n) {
    *n = p->text_offsets[text + 1] - p->text_offsets[text];
    return p->texts + p->text_offsets[text];
}

/* Whether a word may begin behind these bytes: not after a letter or a digit. */
static int begins_word(const uint8_t *before, int64_t n) {
    if (n == 0) return 1;
    const uint8_t last = before[n - 1];
    if (last < 0x80)
        return !((last >= '0' && last <= '9') || (last >= 'A' && last <= 'Z') ||
                 (last >= 'a' && last <= 'z'));
    int64_t at = n - 1;
    while (at > 0 && before[at] < 0xc0) at--;
    return before[at] == 0xc2 || before[at] == 0xe2 ||
           (before[at] == 0xe3 && at + 1 < n && before[at + 1] == 0x80);
}

/* Whether a word may be written right behind these bytes: not after a sign that closes. */
static int may_open(const uint8_t *before, int64_t n) {
    return begins_word(before, n) && !(n > 0 && memchr(".,;:!?)]}", before[n - 1], 9));
}

/* Whether a phrase stands in the n bytes written and ends behind the first `since` of them. */
static int occurs(const jm_phrases *p, int64_t phrase, const uint8_t *written, int64_t n,
                  int64_t since) {
    const int word = p->flags[phrase] & JM_WORD;
    for (int64_t i = p->spellings[phrase]; i < p->spellings[phrase + 1]; i++) {
        int64_t length;
        const uint8_t *text = text_of(p, p->text_of[i], &length);
        for (int64_t at = since >= length ? since - length + 1 : 0; at + length <= n; at++)
            if (written[at] == text[0] && memcmp(written + at, text, (size_t)length) == 0 &&
                (!word || begins_word(written, at)))
                return 1;
    }
    return 0;
}

/* ---- progress ---- */

void jm_progress_after(const jm_phrasing *g, int32_t sentence, const void *from, int32_t token,
                       void *to, uint8_t *scratch) {
    const jm_phrases *p = g->phrases;
    const progress *old = from;
    progress *now = to;
    int64_t n;
    const uint8_t *piece = piece_of(p, token, &n);
    memcpy(scratch, const_bytes(g, from), (size_t)old->bytes);
    memcpy(scratch + old->bytes, piece, (size_t)n);
    const int64_t all = old->bytes + n, first = p->first[sentence];
    uint64_t met = old->met;
    for (int64_t i = first; i < p->first[sentence + 1]; i++)
        if (!(met >> (i - first) & 1) && occurs(p, i, scratch, all, old->bytes))
            met |= (uint64_t)1 << (i - first);
    const int32_t drop = old->tokens == g->most_tokens;
    const int64_t kept = all < g->most_bytes ? all : g->most_bytes;
    now->met = met;
    now->tokens = old->tokens + 1 - drop;
    now->bytes = (int32_t)kept;
    memcpy(tokens_of(to), const_tokens(from) + drop,
           (size_t)(old->tokens - drop) * sizeof(int32_t));
    tokens_of(to)[now->tokens - 1] = token;
    memcpy(bytes_of(g, to), scratch + all - kept, (size_t)kept);
}

/* Whether the first k tokens of a spelling end the hypothesis, and the phrase would count there. */
static int is_begun(const jm_phrasing *g, const void *at, int64_t phrase, const int32_t *ids,
                    int32_t k) {
    const jm_phrases *p = g->phrases;
    const progress *now = at;
    int64_t n, length = 0;
    if (k > now->tokens || memcmp(const_tokens(at) + now->tokens - k, ids,
                                  (size_t)k * sizeof *ids) != 0)
        return 0;
    const uint8_t *first = piece_of(p, ids[0], &n);
    if (!(p->flags[phrase] & JM_WORD) || (n > 0 && first[0] == ' ')) return 1;
    for (int32_t j = 0; j < k; j++) {
        piece_of(p, ids[j], &n);
        length += n;
    }
    return length <= now->bytes && may_open(const_bytes(g, at), now->bytes - length);
}

/* The tokens that missing phrases go on with, each once, to `ids` if that is not NULL; the most
 * tokens of one that are written to *most. */
static int32_t missing(const jm_phrasing *g, int32_t sentence, const void *at, int32_t *ids,
                       int32_t *most) {
    const jm_phrases *p = g->phrases;
    const progress *now = at;
    const int64_t first = p->first[sentence];
    int32_t count = 0;
    *most = 0;
    for (int64_t i = first; i < p->first[sentence + 1]; i++) {
        if (now->met >> (i - first) & 1) continue;
        for (int64_t s = p->spellings[i]; s < p->spellings[i + 1]; s++) {
            const int32_t *own = p->ids + p->id_offsets[s];
            const int32_t length = (int32_t)(p->id_offsets[s + 1] - p->id_offsets[s]);
            for (int32_t k = length - 1 < now->tokens ? length - 1 : now->tokens; k >= 0; k--) {
                if (!is_begun(g, at, i, own, k)) continue;
                if (k > *most) *most = k;
                int known = !ids;
                for (int32_t j = 0; j < count && !known; j++) known = ids[j] == own[k];
                if (!known) ids[count++] = own[k];
            }
        }
    }
    return count;
}

int32_t jm_phrases_wanted(const jm_phrasing *g, int32_t sentence, const void *at, int32_t *ids) {
    int32_t most;
    return missing(g, sentence, at, ids, &most);
}

static int32_t size_of(const jm_phrases *p, int64_t phrase) {
    int64_t size = 0;
    for (int64_t s = p->spellings[phrase]; s < p->spellings[phrase + 1]; s++)
        if (p->id_offsets[s + 1] - p->id_offsets[s] > size)
            size = p->id_offsets[s + 1] - p->id_offsets[s];
    return (int32_t)size;
}

int32_t jm_phrases_bank(const jm_phrasing *g, int32_t sentence, const void *at) {
    const jm_phrases *p = g->phrases;
    const int64_t first = p->first[sentence];
    int32_t bank;
    missing(g, sentence, at, NULL, &bank);
    for (int64_t i = first; i < p->first[sentence + 1]; i++)
        if (((const progress *)at)->met >> (i - first) & 1) bank += size_of(p, i);
    return bank;
}

int32_t jm_phrases_size(const jm_phrasing *g, int32_t sentence) {
    int32_t size = 0;
    for (int64_t i = g->phrases->first[sentence]; i < g->phrases->first[sentence + 1]; i++)
        size += size_of(g->phrases, i);
    return size;
}

int jm_phrases_may_end(const jm_phrasing *g, int32_t sentence, const void *at) {
    const jm_phrases *p = g->phrases;
    const int64_t first = p->first[sentence];
    for (int64_t i = first; i < p->first[sentence + 1]; i++)
        if (!(p->flags[i] & JM_SOFT) && !(((const progress *)at)->met >> (i - first) & 1)) return 0;
    return 1;
}

int32_t jm_phrases_lacking(const jm_phrasing *g, int32_t sentence, const void *at) {
    const jm_phrases *p = g->phrases;
    const int64_t first = p->first[sentence];
    int32_t count = 0;
    for (int64_t i = first; i < p->first[sentence + 1]; i++)
        count += (p->flags[i] & JM_SOFT) && !(((const progress *)at)->met >> (i - first) & 1);
    return count;
}

int32_t jm_phrases_next(const jm_phrasing *g, int32_t sentence, const void *at, int32_t *begun,
                        int64_t *needed) {
    const jm_phrases *p = g->phrases;
    const progress *now = at;
    const int64_t first = p->first[sentence];
    int32_t next = -1;
    *needed = 0;
    for (int64_t i = first; i < p->first[sentence + 1]; i++) {
        if ((p->flags[i] & JM_SOFT) || (now->met >> (i - first) & 1)) continue;
        const int64_t *range = p->id_offsets + p->spellings[i];
        const int32_t *ids = p->ids + range[0], length = (int32_t)(range[1] - range[0]);
        *needed += length;
        int32_t k = length - 1 < now->tokens ? length - 1 : now->tokens;
        if (next >= 0 || length == 0) continue;
        while (k > 0 && memcmp(const_tokens(at) + now->tokens - k, ids, (size_t)k * sizeof *ids)) k--;
        *begun = k;
        next = ids[k];
    }
    return next;
}

/* ---- tokens that would complete a text ---- */

/* Add to `out` (NULL: only count) the tokens that write the text to its end, if its first k bytes
 * are written. */
static int64_t completions(const jm_phrasing *g, const uint8_t *text, int64_t length, int64_t k,
                           int32_t *out) {
    int64_t count = 0;
    for (int32_t id = 0; id < g->vocab; id++) {
        int64_t n;
        const uint8_t *piece = piece_of(g->phrases, id, &n);
        int has = 0;
        if (k > 0)
            has = n >= length - k && memcmp(piece, text + k, (size_t)(length - k)) == 0;
        for (int64_t at = 0; k == 0 && !has && at + length <= n; at++)
            has = memcmp(piece + at, text, (size_t)length) == 0;
        if (!has) continue;
        if (out) out[count] = id;
        count++;
    }
    return count;
}

/* A text that is banned, or that some sentence may have only once. */
static void mark_texts(const jm_phrases *p, uint8_t *marked) {
    for (int32_t i = 0; i < p->bans; i++) marked[i] = 1;
    for (int64_t i = 0; i < p->phrase_count; i++)
        for (int64_t s = p->spellings[i]; (p->flags[i] & JM_ONCE) && s < p->spellings[i + 1]; s++)
            marked[p->text_of[s]] = 1;
}

int jm_phrasing_make(jm_phrasing *g, const jm_phrases *p, int32_t count, int32_t vocab) {
    *g = (jm_phrasing){.phrases = p, .vocab = vocab, .most_tokens = 1};
    int64_t longest = 0, n, places = p->text_count ? p->text_offsets[p->text_count] : 0;
    for (int64_t t = 0; t < p->text_count; t++) {
        text_of(p, t, &n);
        if (n > longest) longest = n;
    }
    for (int32_t id = 0; id < vocab; id++) {
        piece_of(p, id, &n);
        if (n > g->longest_piece) g->longest_piece = (int32_t)n;
    }
    for (int64_t s = 0; s < p->spelling_count; s++) {
        const int64_t ids = p->id_offsets[s + 1] - p->id_offsets[s];
        if (ids > g->most_tokens) g->most_tokens = (int32_t)ids;
    }
    for (int32_t i = 0; i < count; i++) {
        const int64_t *at = p->id_offsets, from = p->spellings[p->first[i]];
        n = at[p->spellings[p->first[i + 1]]] - at[from];
        if (n > g->most_wanted) g->most_wanted = (int32_t)n;
    }
    g->most_bytes = (int32_t)longest + BEFORE;
    g->stride = (sizeof(progress) + (size_t)g->most_tokens * sizeof(int32_t) +
                 (size_t)g->most_bytes + 7) / 8 * 8;
    g->offsets = calloc((size_t)places + 1, sizeof *g->offsets);
    uint8_t *marked = calloc((size_t)p->text_count + 1, 1);
    int failed = !g->offsets || !marked;
    if (!failed) mark_texts(p, marked);
    int64_t total = 0;
    for (int fill = 0; fill < 2 && !failed; fill++) {
        for (int64_t t = 0; t < p->text_count; t++) {
            const uint8_t *text = text_of(p, t, &n);
            for (int64_t k = 0; k < n; k++) {
                const int64_t place = p->text_offsets[t] + k;
                if (!fill) g->offsets[place] = total;
                int32_t *out = fill ? g->ids + g->offsets[place] : NULL;
                if (marked[t]) total += completions(g, text, n, k, out);
            }
        }
        if (!fill) {
            g->offsets[places] = total;
            g->ids = malloc(((size_t)total + 1) * sizeof *g->ids);
            failed = !g->ids;
        }
    }
    free(marked);
    return failed ? -1 : 0;
}

void jm_phrasing_free(jm_phrasing *g) {
    free(g->offsets);
    free(g->ids);
}

/* Calls of `tell` for each list of tokens that would write text t to its end. */
static void complete(const jm_phrasing *g, int64_t t, const void *at, jm_tell tell, void *who) {
    int64_t n;
    const uint8_t *text = text_of(g->phrases, t, &n), *bytes = const_bytes(g, at);
    const int64_t written = ((const progress *)at)->bytes;
    for (int64_t k = 0; k < n; k++) {
        const int64_t *range = g->offsets + g->phrases->text_offsets[t] + k;
        if (range[1] > range[0] && k <= written &&
            memcmp(bytes + written - k, text, (size_t)k) == 0)
            tell(who, g->ids + range[0], (int32_t)(range[1] - range[0]));
    }
}

void jm_texts_banned(const jm_phrasing *g, const void *at, jm_tell tell, void *who) {
    for (int32_t t = 0; t < g->phrases->bans; t++) complete(g, t, at, tell, who);
}

void jm_phrases_banned(const jm_phrasing *g, int32_t sentence, const void *at, jm_tell tell,
                       void *who) {
    const jm_phrases *p = g->phrases;
    const int64_t first = p->first[sentence];
    for (int64_t i = first; i < p->first[sentence + 1]; i++) {
        if (!(p->flags[i] & JM_ONCE) || !(((const progress *)at)->met >> (i - first) & 1)) continue;
        for (int64_t s = p->spellings[i]; s < p->spellings[i + 1]; s++)
            complete(g, p->text_of[s], at, tell, who);
    }
}

/* ---- arguments ---- */

/* Whether offsets rise from 0, in steps of `least` to `most`. */
static int are_offsets(const int64_t *offsets, int64_t count, int64_t least, int64_t most) {
    if (!offsets || offsets[0] != 0) return 0;
    for (int64_t i = 0; i < count; i++)
        if (offsets[i + 1] - offsets[i] < least || offsets[i + 1] - offsets[i] > most) return 0;
    return 1;
}

int jm_are_phrases(const jm_phrases *p, int32_t count, int32_t vocab, int32_t beam) {
    enum { LONG = 1 << 16 };
    if (p->phrase_count < 0 || p->spelling_count < 0 || p->text_count < 0 || p->bans < 0 ||
        p->bans > p->text_count || !p->widths || !p->flags || !p->pieces || !p->texts || !p->ids ||
        !p->text_of || !are_offsets(p->first, count, 0, JM_MOST_PHRASES) ||
        p->first[count] != p->phrase_count ||
        !are_offsets(p->spellings, p->phrase_count, 1, LONG) ||
        p->spellings[p->phrase_count] != p->spelling_count ||
        !are_offsets(p->id_offsets, p->spelling_count, 0, LONG) ||
        !are_offsets(p->text_offsets, p->text_count, 1, LONG) ||
        !are_offsets(p->piece_offsets, vocab, 0, LONG) || p->id_offsets[p->spelling_count] > LONG * 16)
        return 0;
    for (int32_t i = 0; i < count; i++)
        if (p->widths[i] < 1 || p->widths[i] > beam) return 0;
    for (int64_t i = 0; i < p->id_offsets[p->spelling_count]; i++)
        if (p->ids[i] < 0 || p->ids[i] >= vocab) return 0;
    for (int64_t i = 0; i < p->spelling_count; i++)
        if (p->text_of[i] < 0 || p->text_of[i] >= p->text_count) return 0;
    return p->soft >= 0 && p->enough >= 1 && p->enough <= beam;
}
