/* Chooses the instruction set for what train.h offers; train_body.h has the code. */
#include "train.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels.h"

#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are handed to inline functions only */

/* Here a product and its sum may be rounded once: a machine does it the same way each time. */
#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

typedef float vf __attribute__((vector_size(64)));
typedef float vfu __attribute__((vector_size(64), aligned(4), may_alias));
typedef float vf4 __attribute__((vector_size(16)));
typedef float vf4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(64)));
typedef uint32_t vu __attribute__((vector_size(64)));

#define SPREAD(x) ((vf){0} + (x))
#define LANES ((vu){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#define MOST 16 /* vectors of the widest head */
#define INLINE inline __attribute__((always_inline))

typedef struct {
    uint32_t first, second;
} row_keys;

/* Two keys of a row: splitmix64 of the seed and the row's number. */
static inline row_keys keys_of(const jm_dropout *drop, int64_t row) {
    uint64_t z = drop->seed + ((uint64_t)(drop->first + row) + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (row_keys){(uint32_t)z, (uint32_t)(z >> 32)};
}

#define NAME(f) f##_portable
#define TARGET
#include "train_body.h"
#undef NAME
#undef TARGET

#if defined(__x86_64__)
#define NAME(f) f##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#include "train_body.h"
#undef NAME
#undef TARGET

#define NAME(f) f##_avx512
#define TARGET __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq")))
#include "train_body.h"
#undef NAME
#undef TARGET

static int level(void) {
    const int cpu = jm_cpu();
    return cpu & 1 << JM_AVX512 ? 2 : cpu & 1 << JM_AVX2 ? 1 : 0;
}

#define CALL(f, ...) \
    switch (level()) { \
    case 2: f##_avx512(__VA_ARGS__); break; \
    case 1: f##_avx2(__VA_ARGS__); break; \
    default: f##_portable(__VA_ARGS__); \
    }
#else
#define CALL(f, ...) f##_portable(__VA_ARGS__);
#endif

int jm_train_add_norm(const jm_add_norm *a) {
    if (a->rows < 0 || a->width < 1) return -1;
    CALL(add_norm, a)
    return 0;
}

int jm_train_add_norm_back(const jm_add_norm_back *a) {
    if (a->rows < 0 || a->width < 1) return -1;
    CALL(add_norm_back, a)
    return 0;
}

int jm_train_drop(const float *x, float *y, int64_t rows, int32_t width, const jm_dropout *drop) {
    if (rows < 0 || width < 1) return -1;
    CALL(drop, x, y, rows, width, drop)
    return 0;
}

int jm_train_columns(float *x, const float *y, int64_t rows, int32_t width, float *sums) {
    if (rows < 0 || width < 1) return -1;
    CALL(columns, x, y, rows, width, sums)
    return 0;
}

static int fits(const jm_smoothed *a) {
    if (a->rows < 0 || a->vocabulary < 1 || a->stride < a->vocabulary) return 0;
    for (int64_t r = 0; r < a->rows; r++)
        if (a->target[r] < 0 || a->target[r] >= a->vocabulary) return 0;
    return 1;
}

int jm_train_smoothed(const jm_smoothed *a) {
    if (!fits(a)) return -1;
    CALL(smoothed, a)
    return 0;
}

int jm_train_rdrop(const jm_smoothed *a, float alpha) {
    if (!fits(a)) return -1;
    CALL(rdrop, a, alpha)
    return 0;
}

int jm_train_attend(const jm_attention *a, int64_t scratch, int32_t back) {
    if (a->queries < 0 || a->heads < 1 || a->head_width < 1 || a->head_width > 16 * MOST) return -1;
    for (int64_t t = 0; t < a->queries; t++) {
        const int64_t begin = a->begin[t], end = a->end[t];
        if (begin < 0 || begin >= end || end > a->keys || end - begin > scratch) return -1;
    }
    CALL(attend, a, back)
    return 0;
}
