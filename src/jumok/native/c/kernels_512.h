/* Vectors of 16 floats: AVX-512 F, BW, VL, DQ. Shared by kernels_avx512.c and kernels_vnni.c. */
#include <immintrin.h>

#define LANES 16
#define ROWS_F32 6
#define ROWS_I8 6
#define BLOCKS 4

typedef float vf __attribute__((vector_size(64)));
typedef int32_t vi __attribute__((vector_size(64)));

static inline __mmask16 first(int n) { return (__mmask16)((1u << n) - 1u); }
static inline vf v_set(float a) { return (vf)_mm512_set1_ps(a); }
static inline vi i_set(int32_t a) { return (vi)_mm512_set1_epi32(a); }
static inline vf v_load(const float *p) { return (vf)_mm512_loadu_ps(p); }
static inline void v_store(float *p, vf v) { _mm512_storeu_ps(p, (__m512)v); }
static inline vf v_load_n(const float *p, int n) { return (vf)_mm512_maskz_loadu_ps(first(n), p); }
static inline void v_store_n(float *p, vf v, int n) {
    _mm512_mask_storeu_ps(p, first(n), (__m512)v);
}
static inline vf v_fma(vf a, vf b, vf c) {
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
static inline vf v_max(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
static inline int v_any_over(vf a, vf b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ) != 0;
}
static inline float v_sum(vf v) { return _mm512_reduce_add_ps((__m512)v); }
static inline vi i_max(vi a, vi b) { return (vi)_mm512_max_epi32((__m512i)a, (__m512i)b); }
static inline vf i_float(vi a) { return (vf)_mm512_cvtepi32_ps((__m512i)a); }
static inline vi i_round(vf v) { return (vi)_mm512_cvtps_epi32((__m512)v); }
static inline void i_store_codes(int8_t *p, vi v) {
    _mm_storeu_si128((__m128i *)p, _mm512_cvtsepi32_epi8((__m512i)v));
}
static inline float v_top(vf v) { return _mm512_reduce_max_ps((__m512)v); }
static inline int32_t i_top(vi v) { return _mm512_reduce_max_epi32((__m512i)v); }
static inline int32_t i_sum(vi v) { return _mm512_reduce_add_epi32((__m512i)v); }

/* Lane i of the answer: the sum of p[i]. Halves are added while vectors are merged, four times. */
static inline vf v_sums(const vf *p) {
    __m512 a[8], b[4], c[2];
    for (int i = 0; i < 8; i++)
        a[i] = _mm512_unpacklo_ps((__m512)p[2 * i], (__m512)p[2 * i + 1]) +
               _mm512_unpackhi_ps((__m512)p[2 * i], (__m512)p[2 * i + 1]);
    for (int i = 0; i < 4; i++) {
        const __m512d x = _mm512_castps_pd(a[2 * i]), y = _mm512_castps_pd(a[2 * i + 1]);
        b[i] =
            _mm512_castpd_ps(_mm512_unpacklo_pd(x, y)) + _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
    }
    for (int i = 0; i < 2; i++)
        c[i] = _mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0x88) +
               _mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0xdd);
    return (vf)(_mm512_shuffle_f32x4(c[0], c[1], 0x88) + _mm512_shuffle_f32x4(c[0], c[1], 0xdd));
}
