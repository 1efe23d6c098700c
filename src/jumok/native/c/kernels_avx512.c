/* AVX-512 without VNNI: bytes multiply into pairs of 16 bits, pairs add into 32. */
#include "kernels.h"

#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include "kernels_512.h"

#define DOT_OFFSET 0
#define KERNELS jm_kernels_avx512

typedef struct {
    __m512i size;   /* |code|, at most 128 */
    __mmask64 less; /* code < 0 */
} wi;
typedef __m512i ai;
static inline wi w_load(const uint8_t *p) {
    const __m512i code = _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_set1_epi8((char)128));
    return (wi){_mm512_abs_epi8(code), _mm512_movepi8_mask(code)};
}
static inline ai a_load(const int8_t *p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return _mm512_set1_epi32(four);
}
/* |w| * (a with the sign of w): 2 * 128 * 127 < 2^15, so the 16-bit sums are exact. */
static inline vi dot4(vi acc, wi w, ai a) {
    const __m512i with_sign = _mm512_mask_sub_epi8(a, w.less, _mm512_setzero_si512(), a);
    const __m512i pairs = _mm512_maddubs_epi16(w.size, with_sign);
    return acc + (vi)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
}

#include "kernels_body.h"

#else

const jm_kernels *jm_kernels_avx512(void) { return NULL; }

#endif
