/* AVX2 and FMA: vectors of 8 floats. */
#include "kernels.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#define LANES 8
#define ROWS_F32 6
#define ROWS_I8 4
#define BLOCKS 1
#define DOT_OFFSET 0
#define KERNELS jm_kernels_avx2

typedef float vf __attribute__((vector_size(32)));
typedef int32_t vi __attribute__((vector_size(32)));

static inline __m256i first(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vf v_set(float a) { return (vf)_mm256_set1_ps(a); }
static inline vi i_set(int32_t a) { return (vi)_mm256_set1_epi32(a); }
static inline vf v_load(const float *p) { return (vf)_mm256_loadu_ps(p); }
static inline void v_store(float *p, vf v) { _mm256_storeu_ps(p, (__m256)v); }
static inline vf v_load_n(const float *p, int n) { return (vf)_mm256_maskload_ps(p, first(n)); }
static inline void v_store_n(float *p, vf v, int n) { _mm256_maskstore_ps(p, first(n), (__m256)v); }
static inline vf v_fma(vf a, vf b, vf c) {
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
static inline vf v_max(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
static inline int v_any_over(vf a, vf b) {
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ)) != 0;
}
static inline float v_sum(vf v) {
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
static inline vi i_max(vi a, vi b) { return (vi)_mm256_max_epi32((__m256i)a, (__m256i)b); }
static inline vf i_float(vi a) { return (vf)_mm256_cvtepi32_ps((__m256i)a); }
static inline vi i_round(vf v) { return (vi)_mm256_cvtps_epi32((__m256)v); }
static inline void i_store_codes(int8_t *p, vi v) {
    const __m128i low = _mm256_castsi256_si128((__m256i)v),
                  high = _mm256_extracti128_si256((__m256i)v, 1);
    const __m128i words = _mm_packs_epi32(low, high);
    _mm_storel_epi64((__m128i *)p, _mm_packs_epi16(words, words));
}
static inline float v_top(vf v) {
    const __m128 four =
        _mm_max_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
static inline int32_t i_top(vi v) {
    int32_t top = v[0];
    for (int j = 1; j < LANES; j++) top = v[j] > top ? v[j] : top;
    return top;
}
static inline int32_t i_sum(vi v) { return v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7]; }

/* Lane i of the answer: the sum of p[i]. Halves are added while vectors are merged, three times. */
static inline vf v_sums(const vf *p) {
    __m256 a[4], b[2];
    for (int i = 0; i < 4; i++)
        a[i] = _mm256_unpacklo_ps((__m256)p[2 * i], (__m256)p[2 * i + 1]) +
               _mm256_unpackhi_ps((__m256)p[2 * i], (__m256)p[2 * i + 1]);
    for (int i = 0; i < 2; i++) {
        const __m256d x = _mm256_castps_pd(a[2 * i]), y = _mm256_castps_pd(a[2 * i + 1]);
        b[i] =
            _mm256_castpd_ps(_mm256_unpacklo_pd(x, y)) + _mm256_castpd_ps(_mm256_unpackhi_pd(x, y));
    }
    return (vf)(_mm256_permute2f128_ps(b[0], b[1], 0x20) +
                _mm256_permute2f128_ps(b[0], b[1], 0x31));
}

typedef struct {
    __m256i code, size; /* and |code|, at most 128 */
} wi;
typedef __m256i ai;
static inline wi w_load(const uint8_t *p) {
    const __m256i code = _mm256_loadu_si256((const __m256i *)p) ^ _mm256_set1_epi8((char)128);
    return (wi){code, _mm256_abs_epi8(code)};
}
static inline ai a_load(const int8_t *p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return _mm256_set1_epi32(four);
}
/* |w| * (a with the sign of w): 2 * 128 * 127 < 2^15, so the 16-bit sums are exact. */
static inline vi dot4(vi acc, wi w, ai a) {
    const __m256i pairs = _mm256_maddubs_epi16(w.size, _mm256_sign_epi8(a, w.code));
    return acc + (vi)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

#include "kernels_body.h"

#else

const jm_kernels *jm_kernels_avx2(void) { return NULL; }

#endif
