/* Pieces drawn at random: `draw` of decoding/greedy.py in C.
 *
 *   p(v) ~ P(v) ^ (1 / temperature), cut to the top k, then to the top p
 *
 * The pieces stand best first, of equal ones the lower id first, and the one is drawn at which the
 * distribution function reaches the random number. They are put in order only as far as they are
 * asked for: those still to come are a heap in front, those that have their place stand behind it,
 * the best one last. So nearly always a few of a vocabulary are.
 */
#include <math.h>

#include "search.h"

typedef struct {
    const float *log_probs;
    double temperature;
    int32_t *order; /* (count) */
    double *sums;   /* (placed) of the weights of the best, the second with the best, ... */
    int32_t count, placed;
    float best;
} ranking;

static int is_better(const ranking *k, int32_t one, int32_t other) {
    const float a = k->log_probs[one], b = k->log_probs[other];
    return a != b ? a > b : one < other;
}

/* Not yet divided by the sum of all. */
static double weight_of(const ranking *k, int32_t piece) {
    return exp(((double)k->log_probs[piece] - (double)k->best) / k->temperature);
}

/* The piece at `at` of a heap of n sinks to its place. */
static void sink(const ranking *k, int32_t at, int32_t n) {
    const int32_t piece = k->order[at];
    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_better(k, k->order[child + 1], k->order[child])) child++;
        if (!is_better(k, k->order[child], piece)) break;
        k->order[at] = k->order[child];
    }
    k->order[at] = piece;
}

/* The best piece of the heap gets the next place. */
static void place_next(ranking *k) {
    const int32_t last = k->count - k->placed - 1, piece = k->order[0];
    k->order[0] = k->order[last];
    k->order[last] = piece;
    sink(k, 0, last);
    k->sums[k->placed] = (k->placed ? k->sums[k->placed - 1] : 0) + weight_of(k, piece);
    k->placed++;
}

/* How many of the best pieces may be drawn, and the sum of their weights. */
static int32_t cut(ranking *k, const jm_draws *d, double *total) {
    int32_t kept = k->count;
    *total = 0;
    if (d->top_k > 0 && d->top_k < kept) {
        kept = d->top_k;
        while (k->placed < kept) place_next(k);
        *total = k->sums[kept - 1];
    } else {
        for (int32_t i = 0; i < k->count; i++) *total += weight_of(k, k->order[i]);
    }
    if (d->top_p < 1) {
        const double goal = d->top_p * *total;
        int32_t n = 1;
        for (; n < kept; n++) {
            while (k->placed < n) place_next(k);
            if (!(k->sums[n - 1] < goal)) break;
        }
        kept = n;
        while (k->placed < kept) place_next(k);
        *total = k->sums[kept - 1];
    }
    return kept;
}

int jm_draw(const jm_draws *d, const float *log_probs, int32_t n, const double *uniforms,
            int64_t stride, int32_t count, int32_t *order, double *sums, int32_t *drawn) {
    ranking k = {.log_probs = log_probs, .temperature = d->temperature, .order = order, .sums = sums};
    for (int32_t i = 0; i < n; i++)
        if (log_probs[i] > -INFINITY) order[k.count++] = i;
    if (k.count == 0) return -1;
    for (int32_t at = k.count / 2; at-- > 0;) sink(&k, at, k.count);
    k.best = log_probs[order[0]];
    double total;
    const int32_t kept = cut(&k, d, &total);
    for (int32_t i = 0; i < count; i++) {
        const double goal = uniforms[i * stride] * total;
        int32_t place = 0;
        for (;; place++) {
            while (k.placed <= place) place_next(&k);
            if (place + 1 == kept || k.sums[place] > goal) break;
        }
        drawn[i] = order[k.count - 1 - place];
    }
    return 0;
}

int jm_are_draws(const jm_draws *d, const jm_batch *batch, int32_t beam) {
    if (!(d->temperature > 0) || !isfinite(d->temperature) || !(d->top_p > 0) || !(d->top_p <= 1) ||
        d->top_k < 0 || !d->uniforms || !d->places)
        return 0;
    for (int32_t i = 0; i < batch->count; i++) {
        if (d->places[i] < 0) return 0;
        for (int64_t n = 0; n < (int64_t)beam * batch->limits[i]; n++) {
            const double uniform = d->uniforms[d->places[i] + n];
            if (!(uniform >= 0) || !(uniform < 1)) return 0;
        }
    }
    return 1;
}
