/* From features to the best pieces of each row, without ever having all logits of all rows.
 *
 * The vocabulary comes in stripes of fixed width. Of each stripe and row are kept its largest
 * logit, the sum of exp(logit - largest), and the best pieces so far; the sums are put together in
 * the order of the stripes. So nothing depends on how many rows there are or who computed which
 * stripe.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "search.h"

enum { LIST_ROWS = 32, GROUPS = 16 }; /* rows of a shortlist's logits; most tasks of a vocabulary */

static int32_t stripes_of(int32_t n) { return (n + JM_STRIPE - 1) / JM_STRIPE; }

int jm_projection_make(jm_projection *p, int32_t rows, int32_t k, int list, int shared) {
    const int32_t N = p->matrix.rows + p->own, stripes = stripes_of(N);
    const size_t copies = p->members ? (size_t)p->members->count : list || p->draws ? 1 : 0;
    const size_t logits = copies * LIST_ROWS * (size_t)N;
    const size_t R = (size_t)rows, codes = R * (size_t)jm_codes_stride(p->matrix.columns);
    p->most = rows;
    p->k = k;
    p->groups = !shared || copies ? 1 : stripes < GROUPS ? stripes : GROUPS;
    const size_t lists = (size_t)p->groups * R;
    const size_t told = p->tells ? (size_t)stripes * R + (2 * JM_RECORD_TOP + 1) * lists : 0;
    const size_t numbers =
        2 * (size_t)stripes * R + 3 * R + lists + 2 * lists * (size_t)k + logits + told;
    p->memory = jm_allocate(numbers * sizeof(float) + codes);
    if (!p->memory) return -1;
    p->logits = p->memory;
    p->max = p->logits + logits;
    p->sum = p->max + (size_t)stripes * R;
    p->forced = p->sum + (size_t)stripes * R;
    p->scale = p->forced + R;
    p->values = p->scale + R;
    p->ids = (int32_t *)(p->values + lists * (size_t)k);
    p->found = p->ids + lists * (size_t)k;
    p->sums = p->found + lists;
    p->spread = (float *)(p->sums + R);
    p->best_values = p->spread + (p->tells ? (size_t)stripes * R : 0);
    p->best_ids = (int32_t *)(p->best_values + (p->tells ? JM_RECORD_TOP * lists : 0));
    p->best_found = p->best_ids + (p->tells ? JM_RECORD_TOP * lists : 0);
    p->codes = (int8_t *)(p->best_found + (p->tells ? lists : 0));
    return 0;
}

void jm_projection_free(jm_projection *p) {
    jm_release(p->memory);
    p->memory = NULL;
}

/* What log P is the logit less: its largest, then the log of a sum. -1: they are not finite. */
static int less_of(const float *max, const float *sum, int64_t stride, int32_t stripes, float *largest,
                   float *log_sum) {
    double total = 0;
    *largest = -INFINITY;
    for (int32_t i = 0; i < stripes; i++)
        if (max[i * stride] > *largest) *largest = max[i * stride];
    for (int32_t i = 0; i < stripes; i++)
        total += (double)sum[i * stride] * exp((double)max[i * stride] - (double)*largest);
    *log_sum = (float)log(total);
    return total > 0 && isfinite(total) && isfinite(*largest) ? 0 : -1;
}

/* log P of the pieces of a row, whose logits are in pick->values; -1: not finite. */
static int normalise(jm_pick *pick, const float *max, const float *sum, int64_t stride,
                     int32_t stripes) {
    float largest, log_sum;
    while (pick->bans > 0 && pick->found > 0 && pick->values[pick->found - 1] == -INFINITY)
        pick->found--;
    if (less_of(max, sum, stride, stripes, &largest, &log_sum) || pick->found < 1) return -1;
    for (int32_t j = 0; j < pick->found; j++)
        pick->values[j] = (pick->values[j] - largest) - log_sum;
    for (int32_t j = 0; j < pick->wants; j++)
        pick->wanted_values[j] = (pick->wanted_values[j] - largest) - log_sum;
    return isfinite(pick->values[0]) ? 0 : -1;
}

/* ---- draws ---- */

/* Where an id stands among n ascending ones; NULL: 0, 1, …. -1: it is not there. */
static int32_t place_of(const int32_t *ids, int32_t n, int32_t id) {
    if (!ids) return id < n ? id : -1;
    int32_t low = 0, high = n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && ids[low] == id ? low : -1;
}

/* Bytes that `draw_pieces` needs for n logits. */
static size_t draw_room(int32_t n) { return (size_t)n * (sizeof(double) + sizeof(int32_t)); }

/* The pieces that are drawn for a row, from all of its n logits: those of `ids`, or NULL. `mask` says
 * which of the first JM_STRIPE may come, and `learned` whether the others may. -1: not finite. */
static int draw_pieces(const jm_projection *p, jm_pick *pick, float *logits, int32_t n,
                       const int32_t *ids, const uint8_t *mask, int learned, const float *max,
                       const float *sum, void *room) {
    float largest, log_sum;
    double *sums = room;
    pick->found = 0;
    if (less_of(max, sum, 1, stripes_of(n), &largest, &log_sum)) return -1;
    const int32_t end = place_of(ids, n, JM_EOS);
    pick->ends = end >= 0 && (logits[end] - largest) - log_sum == -log_sum;
    const int free = pick->ends && pick->at_end == JM_LET_GO && pick->forced < 0;
    const int32_t only = pick->forced >= 0 ? pick->forced : pick->ends ? pick->at_end : JM_NO_ID;
    const int32_t place = only >= 0 ? place_of(ids, n, only) : -1, bans = free ? pick->texts : pick->bans;
    const int may_end = free && !pick->early && p->filter->usual[pick->state][pick->room][JM_EOS];
    for (int32_t j = 0; j < n; j++) {
        const int may = place >= 0 ? j == place : j < JM_STRIPE ? mask[j] : learned;
        logits[j] = may || (may_end && j == end) ? (logits[j] - largest) - log_sum : -INFINITY;
    }
    for (int32_t j = 0; j < bans && place < 0; j++) {
        const int32_t banned = place_of(ids, n, pick->banned[j]);
        if (banned >= 0) logits[banned] = -INFINITY;
    }
    if (jm_draw(p->draws, logits, n, pick->uniforms, pick->stride, pick->draws, (int32_t *)(sums + n),
                sums, pick->ids))
        return -1;
    pick->found = pick->draws;
    for (int32_t d = 0; d < pick->draws; d++) {
        const int32_t at = pick->ids[d];
        pick->values[d] = logits[at];
        pick->ids[d] = ids ? ids[at] : at;
    }
    return 0;
}

/* ---- the whole vocabulary ---- */

typedef struct {
    jm_projection *p;
    const float *features;
    const jm_pick *picks;
    int32_t R;
    atomic_int failed;
} whole;

/* What is banned of this stripe goes, and what is wanted of the rest is noted. */
static void look_for_phrases(const jm_pick *pick, int32_t first, int32_t n, const uint8_t *mask,
                             float *logits) {
    for (int32_t j = 0; j < pick->bans; j++)
        if (pick->banned[j] >= first && pick->banned[j] < first + n)
            logits[pick->banned[j] - first] = -INFINITY;
    for (int32_t j = 0; j < pick->wants; j++) {
        const int32_t at = pick->wanted[j] - first;
        if (at >= 0 && at < n && (!mask || mask[at])) pick->wanted_values[j] = logits[at];
    }
}

static void look_at(const whole *w, int32_t group, int32_t r, int32_t stripe, int32_t n,
                    float *logits) {
    jm_projection *p = w->p;
    const jm_pick *pick = &w->picks[r];
    const int32_t first = stripe * JM_STRIPE, forced = pick->forced - first;
    const int64_t at = (int64_t)stripe * w->R + r, list = (int64_t)group * w->R + r;
    jm_sum_exp(logits, n, &p->max[at], &p->sum[at], p->tells ? &p->spread[at] : NULL);
    if (p->tells) /* before anything is banned */
        p->best_found[list] = jm_top(logits, n, first, NULL, JM_RECORD_TOP,
                                     p->best_values + list * JM_RECORD_TOP,
                                     p->best_ids + list * JM_RECORD_TOP, p->best_found[list]);
    if (pick->forced >= 0) {
        if (forced >= 0 && forced < n) p->forced[r] = logits[forced];
        return;
    }
    const jm_filter *f = p->filter;
    const uint8_t *mask = NULL;
    if (stripe == 0)
        mask = f->mask[pick->state][pick->room][pick->no_end];
    else if (!f->learned[pick->state][pick->room][pick->no_end])
        return;
    if (pick->bans || pick->wants) look_for_phrases(pick, first, n, mask, logits);
    p->found[list] = jm_top(logits, n, first, mask, p->k, p->values + list * p->k,
                            p->ids + list * p->k, p->found[list]);
}

/* The rows first..first + n of a packed matrix; first is a multiple of JM_BLOCK. */
static jm_matrix part_of(const jm_matrix *w, int32_t first, int32_t n) {
    const int64_t width = w->type == JM_I8 ? jm_codes_stride(w->columns) : 4 * (int64_t)w->columns;
    const char *data = (const char *)w->data + first * width;
    return (jm_matrix){n,
                       w->columns,
                       w->type,
                       data,
                       w->scale ? w->scale + first : NULL,
                       w->bias ? w->bias + first : NULL};
}

/* The stripes of one group, in order. */
static void do_group(void *argument, int32_t group, jm_scratch *scratch) {
    whole *w = argument;
    jm_projection *p = w->p;
    const int32_t N = p->matrix.rows, R = w->R, stripes = stripes_of(N);
    const int32_t first = (int32_t)((int64_t)stripes * group / p->groups);
    const int32_t last = (int32_t)((int64_t)stripes * (group + 1) / p->groups);
    float *logits = jm_scratch_get(scratch, (size_t)R * JM_STRIPE * sizeof(float));
    if (!logits) {
        w->failed = 1;
        return;
    }
    memset(p->found + (int64_t)group * R, 0, (size_t)R * sizeof *p->found);
    if (p->tells) memset(p->best_found + (int64_t)group * R, 0, (size_t)R * sizeof *p->best_found);
    for (int32_t i = first; i < last; i++) {
        const int32_t n = i + 1 < stripes ? JM_STRIPE : N - i * JM_STRIPE;
        const jm_matrix part = part_of(&p->matrix, i * JM_STRIPE, n);
        if (part.type == JM_I8)
            jm_linear_quantised(&part, p->codes, p->scale, p->sums, R, logits, JM_STRIPE, 0, 0,
                                jm_blocks(n));
        else
            jm_linear_blocks(&part, w->features, part.columns, R, logits, JM_STRIPE, 0, 0,
                             jm_blocks(n));
        for (int32_t r = 0; r < R; r++) look_at(w, group, r, i, n, logits + (int64_t)r * JM_STRIPE);
    }
}

/* The best k of some lists of k, each `stride` behind the one before: how many there are. The lists
 * are in order of ids, so of equals the earlier one stays first. */
static int32_t merge(int32_t lists, int64_t stride, int32_t k, const int32_t *counts,
                     const float *from, const int32_t *from_ids, float *values, int32_t *ids) {
    int32_t found = 0;
    for (int32_t g = 0; g < lists; g++) {
        const float *one = from + g * stride * k;
        for (int32_t j = 0; j < counts[g * stride]; j++) {
            int32_t at = found < k ? found : k - 1;
            if (found == k && !(one[j] > values[at])) break;
            for (; at > 0 && one[j] > values[at - 1]; at--) {
                values[at] = values[at - 1];
                ids[at] = ids[at - 1];
            }
            values[at] = one[j];
            ids[at] = from_ids[g * stride * k + j];
            if (found < k) found++;
        }
    }
    return found;
}

void jm_opinion(const jm_projection *p, int32_t R, int32_t r, float *entropy, float *log_probs,
                int32_t *ids) {
    const int32_t stripes = stripes_of(p->matrix.rows);
    double largest = -INFINITY, total = 0, spread = 0;
    for (int32_t i = 0; i < stripes; i++)
        if ((double)p->max[i * (int64_t)R + r] > largest) largest = p->max[i * (int64_t)R + r];
    for (int32_t i = 0; i < stripes; i++) {
        const int64_t at = i * (int64_t)R + r;
        const double down = (double)p->max[at] - largest, share = exp(down);
        total += share * (double)p->sum[at];
        spread += share * ((double)p->spread[at] + down * (double)p->sum[at]);
    }
    const int32_t found = merge(p->groups, R, JM_RECORD_TOP, p->best_found + r,
                                p->best_values + (int64_t)r * JM_RECORD_TOP,
                                p->best_ids + (int64_t)r * JM_RECORD_TOP, log_probs, ids);
    *entropy = (float)(log(total) - spread / total);
    for (int32_t j = 0; j < JM_RECORD_TOP; j++) {
        log_probs[j] = j < found ? (float)(((double)log_probs[j] - largest) - log(total)) : -INFINITY;
        if (j >= found) ids[j] = -1;
    }
}

static int32_t project_whole(jm_projection *p, const float *features, int32_t R, jm_pick *picks,
                             jm_worker *worker) {
    whole w = {p, features, picks, R, 0};
    if (p->matrix.type == JM_I8)
        jm_quantise(features, p->matrix.columns, R, p->matrix.columns, p->codes, p->scale, p->sums);
    jm_share(worker, p->groups, do_group, &w);
    if (w.failed) {
        worker->failed = 1;
        return -1;
    }
    for (int32_t r = 0; r < R; r++) {
        if (picks[r].forced >= 0) {
            picks[r].found = 1;
            picks[r].values[0] = p->forced[r];
            picks[r].ids[0] = picks[r].forced;
        } else {
            picks[r].found =
                merge(p->groups, R, p->k, p->found + r, p->values + (int64_t)r * p->k,
                      p->ids + (int64_t)r * p->k, picks[r].values, picks[r].ids);
        }
        if (normalise(&picks[r], p->max + r, p->sum + r, R, stripes_of(p->matrix.rows))) return r;
    }
    return -1;
}

/* ---- a shortlist ---- */

/* `look_for_phrases` in a stripe of the row's own list. */
static void look_in_list(const jm_pick *pick, int32_t first, int32_t n, const uint8_t *mask,
                         float *logits) {
    const int32_t *ids = pick->list->ids + first;
    for (int32_t at = 0; at < n; at++) {
        for (int32_t j = 0; j < pick->bans; j++)
            if (ids[at] == pick->banned[j]) logits[at] = -INFINITY;
        for (int32_t j = 0; j < pick->wants; j++)
            if (ids[at] == pick->wanted[j] && (!mask || mask[at]))
                pick->wanted_values[j] = logits[at];
    }
}

/* What is drawn from the row's own list; all of its logits stand together for that. */
static int draw_from_list(jm_projection *p, const float *all, jm_pick *pick, const uint8_t *mask,
                          int learned, jm_worker *worker) {
    const jm_list *list = pick->list;
    char *room = jm_scratch_get(&worker->scratch,
                                draw_room(list->count) + (size_t)list->count * sizeof(float));
    if (!room) {
        worker->failed = 1;
        return -1;
    }
    float *own = (float *)(room + draw_room(list->count));
    for (int32_t j = 0; j < list->count; j++) own[j] = all[list->places[j]];
    for (int32_t first = 0, i = 0; first < list->count; first += JM_STRIPE, i++) {
        const int32_t n = list->count - first < JM_STRIPE ? list->count - first : JM_STRIPE;
        jm_sum_exp(own + first, n, &p->max[i], &p->sum[i], NULL);
    }
    return draw_pieces(p, pick, own, list->count, list->ids, mask, learned, p->max, p->sum, room);
}

/* The same over the ids of the row's own list, in stripes of that list. */
static int from_list(jm_projection *p, const float *all, float *own, jm_pick *pick,
                     jm_worker *worker) {
    const jm_list *list = pick->list;
    uint8_t mask[JM_STRIPE];
    const int learned = jm_filter_list(p->filter, pick->state, pick->room, pick->no_end, list->ids,
                                       list->bytes, list->count > list->bytes, mask);
    memset(mask + list->bytes, learned, (size_t)(JM_STRIPE - list->bytes));
    if (p->draws) return draw_from_list(p, all, pick, mask, learned, worker);
    pick->found = 0;
    for (int32_t first = 0, i = 0; first < list->count; first += JM_STRIPE, i++) {
        const int32_t n = list->count - first < JM_STRIPE ? list->count - first : JM_STRIPE;
        for (int32_t j = 0; j < n; j++) {
            own[j] = all[list->places[first + j]];
            if (list->ids[first + j] == pick->forced) {
                pick->found = 1;
                pick->values[0] = own[j];
                pick->ids[0] = first + j;
            }
        }
        jm_sum_exp(own, n, &p->max[i], &p->sum[i], NULL);
        if ((pick->bans || pick->wants) && (first == 0 || learned))
            look_in_list(pick, first, n, first == 0 ? mask : NULL, own);
        if (pick->forced < 0 && (first == 0 || learned))
            pick->found = jm_top(own, n, first, first == 0 ? mask : NULL, p->k, pick->values,
                                 pick->ids, pick->found);
    }
    for (int32_t j = 0; j < pick->found; j++) pick->ids[j] = list->ids[pick->ids[j]];
    return normalise(pick, p->max, p->sum, 1, stripes_of(list->count));
}

/* Logits of the rows that only one sentence has, for `rows` of its hypotheses. */
static void project_own(jm_projection *p, const jm_matrix *own, const float *features, int32_t row,
                        int32_t rows, float *logits, int64_t stride) {
    const int64_t D = p->matrix.columns;
    if (own->type == JM_I8)
        jm_linear_quantised(own, p->codes + row * jm_codes_stride((int32_t)D), p->scale + row,
                            p->sums + row, rows, logits, stride, 0, 0, jm_blocks(own->rows));
    else
        jm_linear_blocks(own, features + row * D, D, rows, logits, stride, 0, 0,
                         jm_blocks(own->rows));
}

static int32_t project_lists(jm_projection *p, const float *features, int32_t R, jm_pick *picks,
                             jm_worker *worker) {
    const int32_t D = p->matrix.columns, common = p->matrix.rows, N = common + p->own;
    float own[JM_STRIPE];
    if (p->own && p->matrix.type == JM_I8)
        jm_quantise(features, D, R, D, p->codes, p->scale, p->sums);
    for (int32_t first = 0; first < R; first += LIST_ROWS) {
        const int32_t rows = R - first < LIST_ROWS ? R - first : LIST_ROWS;
        jm_apply(worker, &p->matrix, features + (int64_t)first * D, D, rows, p->logits, N, 0);
        if (worker->failed) return -1;
        for (int32_t r = first, next; r < first + rows; r = next) {
            const jm_list *list = picks[r].list;
            for (next = r + 1; next < first + rows && picks[next].list == list;) next++;
            if (list->own.rows > 0)
                project_own(p, &list->own, features, r, next - r,
                            p->logits + (int64_t)(r - first) * N + common, N);
        }
        for (int32_t r = 0; r < rows; r++)
            if (from_list(p, p->logits + (int64_t)r * N, own, &picks[first + r], worker))
                return first + r;
    }
    return -1;
}

/* ---- whole rows: of an ensemble, and for draws ---- */

typedef struct {
    jm_projection *p;
    jm_pick *picks; /* of the rows at hand */
    atomic_int bad; /* the first of them whose numbers are not finite, or a large number */
    atomic_int failed;
} mixture;

/* log of the sum of exp over a whole row. */
static double log_sum_of(const float *logits, int32_t N) {
    double largest = -INFINITY, total = 0;
    for (int32_t first = 0; first < N; first += JM_STRIPE) {
        float max, sum;
        jm_sum_exp(logits + first, N - first < JM_STRIPE ? N - first : JM_STRIPE, &max, &sum,
                   NULL);
        if (max > largest) {
            total *= exp(largest - (double)max);
            largest = max;
        }
        total += (double)sum * exp((double)max - largest);
    }
    return largest + log(total);
}

/* The first of the members' logits of some ids become those of the ensemble: with a_k = log P_k,
 *   probabilities: log sum_k w_k exp(a_k)      logs: sum_k w_k a_k
 * `less` is taken away from each member's logits: log Z_k - log w_k, or log Z_k. */
static void mix(const jm_members *m, float *logits, int64_t stride, int32_t n, const float *less) {
    float top[JM_STRIPE], sum[JM_STRIPE], part[JM_STRIPE];
    if (m->mean == JM_LOGS) {
        for (int32_t i = 0; i < n; i++) sum[i] = 0;
        for (int32_t k = 0; k < m->count; k++)
            for (int32_t i = 0; i < n; i++)
                sum[i] += m->weights[k] * (logits[k * stride + i] - less[k]);
        memcpy(logits, sum, (size_t)n * sizeof *sum);
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        top[i] = logits[i] - less[0];
        sum[i] = 0;
    }
    for (int32_t k = 1; k < m->count; k++)
        for (int32_t i = 0; i < n; i++) {
            const float a = logits[k * stride + i] - less[k];
            top[i] = a > top[i] ? a : top[i];
        }
    for (int32_t k = 0; k < m->count; k++) {
        for (int32_t i = 0; i < n; i++) part[i] = (logits[k * stride + i] - less[k]) - top[i];
        jm_exp(part, part, n);
        jm_add(sum, part, n);
    }
    for (int32_t i = 0; i < n; i++) logits[i] = top[i] + logf(sum[i]);
}

/* One row: the members' logits to those of the ensemble, if it is one, and the best pieces of them. */
static void do_mixture(void *argument, int32_t row, jm_scratch *scratch) {
    mixture *w = argument;
    jm_projection *p = w->p;
    const jm_members *m = p->members;
    jm_pick *pick = &w->picks[row];
    const int32_t N = p->matrix.rows, stripes = stripes_of(N);
    const int64_t stride = (int64_t)LIST_ROWS * N;
    float *logits = p->logits + (int64_t)row * N, less[JM_MOST_MEMBERS];
    float *max = p->max + (int64_t)row * stripes, *sum = p->sum + (int64_t)row * stripes;
    const jm_filter *f = p->filter;
    const int learned = f->learned[pick->state][pick->room][pick->no_end];
    void *room = p->draws ? jm_scratch_get(scratch, draw_room(N)) : NULL;
    int finite = 1;
    if (p->draws && !room) {
        atomic_store(&w->failed, 1);
        return;
    }
    for (int32_t k = 0; m && k < m->count; k++) {
        const double weight = m->mean == JM_LOGS ? 0 : log((double)m->weights[k]);
        less[k] = (float)(log_sum_of(logits + k * stride, N) - weight);
        finite &= isfinite(less[k]);
    }
    pick->found = 0;
    for (int32_t i = 0; i < stripes && finite; i++) {
        const int32_t first = i * JM_STRIPE, n = N - first < JM_STRIPE ? N - first : JM_STRIPE;
        const uint8_t *mask = i ? NULL : f->mask[pick->state][pick->room][pick->no_end];
        float *here = logits + first;
        if (m) mix(m, here, stride, n, less);
        jm_sum_exp(here, n, &max[i], &sum[i], NULL);
        if (p->draws) continue;
        if (pick->forced >= first && pick->forced < first + n) {
            pick->found = 1;
            pick->values[0] = here[pick->forced - first];
            pick->ids[0] = pick->forced;
        }
        if (pick->forced >= 0 || (i && !learned)) continue;
        if (pick->bans || pick->wants) look_for_phrases(pick, first, n, mask, here);
        pick->found = jm_top(here, n, first, mask, p->k, pick->values, pick->ids, pick->found);
    }
    if (finite && p->draws)
        finite = !draw_pieces(p, pick, logits, N, NULL,
                              f->mask[pick->state][pick->room][pick->no_end], learned, max, sum, room);
    if (!finite || (!p->draws && normalise(pick, max, sum, 1, stripes))) {
        int before = atomic_load(&w->bad);
        while (row < before && !atomic_compare_exchange_weak(&w->bad, &before, row)) {
        }
    }
}

static int32_t project_rows(jm_projection *p, const float *features, int32_t R, jm_pick *picks,
                            jm_worker *worker) {
    const jm_members *m = p->members;
    const int32_t N = p->matrix.rows, count = m ? m->count : 1;
    for (int32_t first = 0; first < R; first += LIST_ROWS) {
        const int32_t rows = R - first < LIST_ROWS ? R - first : LIST_ROWS;
        const float *own = features;
        for (int32_t k = 0; k < count; k++) {
            const jm_matrix *output = m ? &m->models[k]->output : &p->matrix;
            const int64_t D = output->columns;
            jm_apply(worker, output, own + first * D, D, rows, p->logits + (int64_t)k * LIST_ROWS * N,
                     N, 0);
            own += R * D;
        }
        if (worker->failed) return -1;
        mixture w = {p, picks + first, LIST_ROWS, 0};
        jm_share(worker, rows, do_mixture, &w);
        worker->failed |= w.failed;
        if (worker->failed) return -1;
        if (w.bad < LIST_ROWS) return first + w.bad;
    }
    return -1;
}

static int32_t project(jm_projection *p, const float *features, int32_t R, jm_pick *picks,
                       jm_worker *worker) {
    for (int32_t r = 0; r < R; r++)
        for (int32_t j = 0; j < picks[r].wants; j++) picks[r].wanted_values[j] = -INFINITY;
    if (R > 0 && picks[0].list) return project_lists(p, features, R, picks, worker);
    return p->members || p->draws ? project_rows(p, features, R, picks, worker)
                                  : project_whole(p, features, R, picks, worker);
}

int32_t jm_project(jm_projection *p, const float *features, int32_t R, jm_pick *picks,
                   jm_worker *worker) {
    int32_t row = project(p, features, R, picks, worker);
    while (row >= 0 && picks[row].found == 0 && picks[row].bans > 0) { /* all it has is banned */
        picks[row].bans = 0;
        row = project(p, features, R, picks, worker);
    }
    return row;
}
