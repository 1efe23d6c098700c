/* What lies between the matrix products of a training step on a CPU. All rows are float32, end to
 * end unless a stride is given. The functions read and write what their structures name and nothing
 * else, keep no state, and sum in an order that the shapes alone decide. */
#ifndef JM_TRAIN_H
#define JM_TRAIN_H

#include <stdint.h>

/* Dropout: a number stays if a 32-bit hash of (seed, first + row, column) is at least `threshold`,
 * and is then multiplied by `scale`. threshold 0: all stay as they are. */
typedef struct {
    uint64_t seed;
    int64_t first;
    uint32_t threshold;
    float scale;
} jm_dropout;

/* s = x + dropout(f + bias), y = (s - mean) * scale * weight + shift,
 * scale = 1 / sqrt(var + epsilon). */
typedef struct {
    const float *x, *f, *bias, *weight, *shift; /* (rows, width) twice, (width); bias or NULL */
    float *s, *y, *mean, *scale;                /* (rows, width) twice, (rows) twice */
    int64_t rows;
    int32_t width;
    jm_dropout drop;
    float epsilon;
} jm_add_norm;

/* Its gradients; sums (3, width) gets those of weight, shift and bias, and begins with zeros. */
typedef struct {
    const float *dy, *ds, *s, *mean, *scale, *weight; /* ds or NULL: from other uses of s */
    float *dx, *df, *sums;
    int64_t rows;
    int32_t width, has_bias;
    jm_dropout drop;
} jm_add_norm_back;

/* Smoothed cross-entropy of each row; if grad, its gradient in the place of the logits.
 * Target 0: none. */
typedef struct {
    float *logits; /* (rows, stride), of which `vocabulary` columns */
    const int32_t *target;
    float *loss, *nll; /* (rows) */
    int64_t rows, stride;
    int32_t vocabulary, grad;
    float smoothing;
} jm_smoothed;

/* Attention of query t over the keys [begin[t], end[t]), in each head of `head_width` numbers. Back
 * adds to dq, dk, dv, laid out as q, k, v. scratch: as many floats as the longest range. */
typedef struct {
    const float *q, *k, *v, *d_out;
    const int32_t *begin, *end;
    float *out, *log_sum, *scratch, *dq, *dk, *dv; /* out (queries, heads, head_width) */
    int64_t q_stride, k_stride, v_stride, queries, keys;
    int32_t heads, head_width;
    float scale;
} jm_attention;

/* All return 0, or -1 for shapes, ranges or targets that do not fit. */
int jm_train_add_norm(const jm_add_norm *a);
int jm_train_add_norm_back(const jm_add_norm_back *a);
int jm_train_drop(const float *x, float *y, int64_t rows, int32_t width, const jm_dropout *drop);
/* x where y is above 0 (in place; y NULL: all), and the sums over rows. */
int jm_train_columns(float *x, const float *y, int64_t rows, int32_t width, float *sums);
int jm_train_smoothed(const jm_smoothed *a);
/* The same for two passes of `rows` rows each, one behind the other, that must agree (R-Drop):
 * the mean of both losses + alpha / 4 (KL(p_1 || p_2) + KL(p_2 || p_1)). */
int jm_train_rdrop(const jm_smoothed *a, float alpha);
int jm_train_attend(const jm_attention *a, int64_t scratch, int32_t back);

#endif
