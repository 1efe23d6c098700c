/* The numeric kernels of the engine. Each is one function for every instruction set; the fastest
 * the CPU has is chosen when the library is first used (kernels.c).
 *
 * A matrix W has N rows (outputs) and K columns (inputs): y = x Wt + b. N16, K4: rounded up.
 *   JM_F32  data float   [N16/16][K][16]
 *   JM_I8   data uint8_t [N16/16][K4/4][16][4], each byte code + 128; w = code * scale[n]
 * Every output is summed over k in order, whatever the number of rows: results do not depend on
 * what else is computed beside them. Nothing outside the stated shapes is read or written; the
 * padding of data, scale and bias (all N16 long) is read.
 */
#ifndef JM_KERNELS_H
#define JM_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "jumok.h"

enum { JM_PORTABLE = 0, JM_AVX2 = 1, JM_AVX512 = 2, JM_VNNI = 3, JM_NEON = 4, JM_LEVELS = 5 };

/* What this processor and its operating system have: a bit for each level, and these. */
enum { JM_CPU_BF16 = 1 << JM_LEVELS, JM_CPU_INTEL = 2 << JM_LEVELS };
int jm_cpu(void);
enum { JM_BLOCK = 16 }; /* outputs of one block of a packed matrix */

typedef struct {
    int32_t rows, columns, type; /* N, K, JM_F32 or JM_I8 */
    const void *data;
    const float *scale; /* N16 (JM_I8 only) */
    const float *bias;  /* N16, or NULL */
} jm_matrix;

/* Working memory of one thread; grows and is kept. Begin with zeros, end with jm_scratch_free. */
typedef struct {
    void *memory;
    size_t size;
} jm_scratch;

void *jm_scratch_get(jm_scratch *s,
                     size_t bytes); /* 64-byte aligned, old content lost; NULL: no memory */
void jm_scratch_free(jm_scratch *s);

/* Memory that begins at a multiple of 64, as its size is one; freed by jm_free_aligned only. */
void *jm_aligned(size_t bytes);
void jm_free_aligned(void *memory);

static inline int32_t jm_blocks(int32_t rows) { return (rows + 15) / 16; }
static inline int64_t jm_codes_stride(int32_t columns) { return ((int64_t)columns + 3) / 4 * 4; }

/* y[r][0..N) = x[r] Wt + b, relu: then max(., 0). r in 0..R. x rows ldx, y rows ldy floats apart.
 * An int8 matrix quantises x itself (memory from s). 0, or -1: no memory. */
int jm_linear(const jm_matrix *w, const float *x, int64_t ldx, int32_t R, float *y, int64_t ldy,
              int32_t relu, jm_scratch *s);

/* The parts of it, for threads: only blocks begin..end of 16 outputs; the input quantised once. */
void jm_linear_blocks(const jm_matrix *w, const float *x, int64_t ldx, int32_t R, float *y,
                      int64_t ldy, int32_t relu, int32_t begin, int32_t end); /* JM_F32 */
void jm_linear_quantised(const jm_matrix *w, const int8_t *codes, const float *scale,
                         const int32_t *sums, int32_t R, float *y, int64_t ldy, int32_t relu,
                         int32_t begin, int32_t end); /* JM_I8 */

/* Rows to int8: codes[R][K4] in [-127, 127] (padding zero), scale[R] = max|x| / 127, sums[R] =
 * the sum of a row's codes. A row with a number that is not finite gets the scale NaN, so its
 * outputs are NaN. */
void jm_quantise(const float *x, int64_t ldx, int32_t R, int32_t K, int8_t *codes, float *scale,
                 int32_t *sums);

/* y = norm(x + add) * weight + bias over D; rows D apart. add may be NULL; y may be x or add. No
 * bias: by the root mean square alone, without taking off the mean. */
void jm_norm(float *y, const float *x, const float *add, const float *weight, const float *bias,
             float epsilon, int32_t R, int32_t D);

/* y[r][0..n) = act(y[r]) or, with a gate, act(y[r]) * gate[r]; rows ldy, ldg floats apart. JM_GELU
 * is x times the normal distribution, JM_GELU_TANH its well-known approximation. Within 1e-6 of
 * their value for |x| <= 3, within 5e-6 or 1e-12 elsewhere; what is not a number stays none. */
void jm_activate(int32_t kind, float *y, int64_t ldy, const float *gate, int64_t ldg, int32_t R,
                 int32_t n);

/* y[r] = scale * W[ids[r]], rows of K floats end to end. */
void jm_embed(const jm_matrix *table, const int32_t *ids, int32_t R, float scale, float *y);

/* Chosen rows of a packed matrix as a packed matrix: out->data, scale, bias are the caller's memory
 * (jm_packed_*(count, K) bytes; N16 floats); out gets the shape. Padding is zero. */
void jm_select_rows(const jm_matrix *w, const int32_t *ids, int32_t count, void *data, float *scale,
                    float *bias, jm_matrix *out);

/* Keys and values of n places. Row t of head h stands at h * head + i_t * stride numbers, i_t =
 * index[t], or t where index is NULL. half: they are bfloat16 as jm_halve writes them. near: what
 * is added to the scores by distance, near[h * near_head + t - q] for query q and place t, or NULL;
 * 15 floats behind those are read too. weights: where the n weights of query q in head h are written
 * to, at h * weights_head + q * weights_query, or NULL. */
typedef struct {
    const void *keys, *values;
    int64_t head, stride;
    const int32_t *index;
    int32_t n, half;
    const float *near;
    int64_t near_head;
    float *weights;
    int64_t weights_head, weights_query;
} jm_memory;

/* Attention of Q query rows over the same n keys. Heads of `size` floats lie end to end in a row:
 *   out[q][h] = sum_t softmax_t(scale * query[q][h] . key[t][h] + near) * value[t][h]
 * n = 0: zeros.
 * 0, or -1: no memory. */
int jm_attend(const float *query, int64_t ldq, int32_t Q, int32_t heads, int32_t size, float scale,
              const jm_memory *memory, float *out, int64_t ldo, jm_scratch *s);

/* The weights of one query over n keys of one head, which stand as in jm_attend (no values, no
 * index): weight[t] = softmax_t(scale * query . key[t]). There is room for jm_attend_stride(n). */
void jm_weights(const float *query, int32_t size, float scale, const jm_memory *memory,
                float *weight);

/* Rows of `size` floats to the nearest bfloat16, even ones in a tie; what is not a number stays
 * none. A row of them is jm_half_size long, zeros at its end, in an order of its own. */
static inline int32_t jm_half_size(int32_t size) { return (size + 31) / 32 * 32; }
void jm_halve(const float *x, int64_t ldx, int32_t R, int32_t size, uint16_t *y, int64_t ldy);

/* The k best of V logits by log-probability, best first, equal ones: lower id first; allowed (V
 * bytes, or NULL) says which may be chosen, -inf and NaN never are. *log_sum = log of the sum of
 * exp over ALL logits; NaN where a logit is NaN or +inf. Returns how many were found. */
int32_t jm_log_softmax_top(const float *logits, int32_t V, int32_t k, const uint8_t *allowed,
                           float *values, int32_t *ids, float *log_sum);

/* The same in two, for logits that come in stripes. jm_sum_exp: *max = the largest of n logits,
 * *sum = sum of exp(logit - max), always in the same order of lanes; *sum is NaN where a logit
 * is NaN or +inf; all -inf: max -inf, sum 0. *spread = sum of exp(logit - max) (logit - max), of which
 * entropies are made, where it is not NULL. jm_top: puts the allowed logits[i], with the id
 * first + i, into the list of the k best so far (`found` entries; best first, equal ones: the
 * earlier first) and returns its new length. The values are logits. */
void jm_sum_exp(const float *logits, int32_t n, float *max, float *sum, float *spread);
int32_t jm_top(const float *logits, int32_t n, int32_t first, const uint8_t *allowed, int32_t k,
               float *values, int32_t *ids, int32_t found);

/* In place or not: y may be x. */
void jm_add(float *y, const float *x, int64_t n); /* y += x */
void jm_exp(float *y, const float *x, int64_t n); /* x <= 88; under -87.3: 0 */
void jm_tanh(float *y, const float *x, int64_t n);
void jm_sigmoid(float *y, const float *x, int64_t n);
float jm_dot(const float *a, const float *b, int64_t n);
void jm_softmax(float *x, int32_t n); /* in place */
void jm_weighted_sum(float *y, const float *weight, const float *rows, int64_t stride, int32_t n,
                     int32_t D); /* y = sum_t weight[t] * rows[t] */

/* Working memory of attend: the weights of 16 queries over n keys, whole vectors each; where
 * there are as many queries, also the keys and values of one head, if they are floats. */
enum { JM_QUERIES = 16 };
static inline int64_t jm_attend_stride(int32_t n) { return ((int64_t)n + 15) / 16 * 16; }

/* What one instruction set provides; the same meanings as above. */
typedef struct {
    void (*linear_f32)(const jm_matrix *, const float *, int64_t, int32_t, float *, int64_t,
                       int32_t, int32_t, int32_t);
    void (*linear_i8)(const jm_matrix *, const int8_t *, const float *, const int32_t *, int32_t,
                      float *, int64_t, int32_t, int32_t, int32_t);
    void (*quantise)(const float *, int64_t, int32_t, int32_t, int8_t *, float *, int32_t *);
    void (*norm)(float *, const float *, const float *, const float *, const float *, float,
                 int32_t, int32_t);
    void (*activate)(int32_t, float *, int64_t, const float *, int64_t, int32_t, int32_t);
    void (*halve)(const float *, int64_t, int32_t, int32_t, uint16_t *, int64_t);
    void (*attend)(const float *, int64_t, int32_t, int32_t, int32_t, float, const jm_memory *,
                   float *, int64_t, float *);
    void (*weights)(const float *, int32_t, float, const jm_memory *, float *);
    void (*sum_exp)(const float *, int32_t, float *, float *, float *);
    int32_t (*top)(const float *, int32_t, int32_t, const uint8_t *, int32_t, float *, int32_t *,
                   int32_t);
    void (*add)(float *, const float *, int64_t);
    void (*exp)(float *, const float *, int64_t);
    void (*tanh)(float *, const float *, int64_t);
    void (*sigmoid)(float *, const float *, int64_t);
    float (*dot)(const float *, const float *, int64_t);
    void (*softmax)(float *, int32_t);
    void (*weighted_sum)(float *, const float *, const float *, int64_t, int32_t, int32_t);
} jm_kernels;

/* NULL where the library was built without it. */
const jm_kernels *jm_kernels_portable(void);
const jm_kernels *jm_kernels_avx2(void);
const jm_kernels *jm_kernels_avx512(void);
const jm_kernels *jm_kernels_vnni(void);
const jm_kernels *jm_kernels_neon(void);

#endif
