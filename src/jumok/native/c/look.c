/* Where a head of the attention to the source looks: of each row the token with the largest weight.
 *
 * The weights of the one head that aligns are computed once more, so that attention itself stays as
 * it is and costs nothing where no one asks.
 */
#include "engine.h"

/* The largest of the weights of one row among the tokens of the text, which tags may stand around,
 * and before the end of the sentence; of equals the first. */
void jm_look_best(const jm_look *look, int32_t row, const float *weight, int32_t n, float share) {
    const int32_t end = n - 1 - look->behind;
    int32_t best = look->before < n ? look->before : 0;
    for (int32_t t = best + 1; t < end; t++)
        if (weight[t] > weight[best]) best = t;
    look->place[row] = best;
    look->weight[row] = n > 0 ? weight[best] * share : 0;
}

int jm_look_at(const jm_look *look, int32_t row, const float *query, int64_t ldq, int32_t Q,
               int32_t heads, int32_t size, float scale, const jm_memory *memory, jm_scratch *s) {
    const int64_t ldw = jm_attend_stride(memory->n);
    const int32_t first = look->head < 0 ? 0 : look->head, count = look->head < 0 ? heads : 1;
    float *weight = jm_scratch_get(s, 2 * (size_t)ldw * sizeof(float)), *sum = weight + ldw;
    if (!weight) return -1;
    for (int32_t q = 0; q < Q; q++) {
        for (int32_t h = first; h < first + count; h++) {
            const jm_memory one = {.keys = (const char *)memory->keys +
                                           h * memory->head * (memory->half ? 2 : 4),
                                   .stride = memory->stride,
                                   .n = memory->n,
                                   .half = memory->half};
            jm_weights(query + q * ldq + (int64_t)h * size, size, scale, &one,
                       h == first ? sum : weight);
            if (h > first) jm_add(sum, weight, memory->n);
        }
        jm_look_best(look, row + q, sum, memory->n, 1.0f / (float)count);
    }
    return 0;
}
