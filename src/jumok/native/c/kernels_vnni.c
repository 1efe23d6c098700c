/* AVX-512 with VNNI: four products and their sum in one instruction. */
#include "kernels.h"

#if defined(__AVX512VNNI__)

#include "kernels_512.h"

#define DOT_OFFSET 1 /* vpdpbusd: the unsigned operand is the weight */
#define KERNELS jm_kernels_vnni

typedef __m512i wi, ai;
static inline wi w_load(const uint8_t *p) { return _mm512_loadu_si512(p); }
static inline ai a_load(const int8_t *p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return _mm512_set1_epi32(four);
}
static inline vi dot4(vi acc, wi w, ai a) { return (vi)_mm512_dpbusd_epi32((__m512i)acc, w, a); }

#include "kernels_body.h"

#else

const jm_kernels *jm_kernels_vnni(void) { return NULL; }

#endif
