/* Which products this machine has; product_body.h has the code. */
#include "product.h"

#include <stddef.h>

#include "kernels.h"

#define ROWS 14     /* of a tile: 2 x 14 sums stay in registers */
#define LANES 16    /* floats of a vector */
#define COLUMNS 32  /* of a tile */
#define STEPS 256   /* of a sum at a time: a strip of a stays in the first cache, */
#define STRIPS 16   /* and so many strips of b in the second */

#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 9 : __GNUC__ >= 10)
#include <immintrin.h>
#define HAVE_PRODUCTS 1
#define INLINE inline __attribute__((always_inline))

#define NAME(f) f##_fp32
#define TARGET __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq")))
#define HALVES 1
#include "product_body.h"
#undef NAME
#undef TARGET
#undef HALVES

#define NAME(f) f##_bf16
#define TARGET __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define HALVES 2
#include "product_body.h"
#undef NAME
#undef TARGET
#undef HALVES
#endif

int jm_product_level(void) {
#ifdef HAVE_PRODUCTS
    if (!(jm_cpu() & 1 << JM_AVX512)) return 0;
    return jm_cpu() & JM_CPU_BF16 ? 2 : 1;
#else
    return 0;
#endif
}

int jm_product_pays(void) {
#ifdef HAVE_PRODUCTS
    return jm_product_level() > 0 && !(jm_cpu() & JM_CPU_INTEL);
#else
    return 0;
#endif
}

int64_t jm_product_scratch(void) {
    return 4 * (int64_t)STEPS * (LANES + STRIPS * COLUMNS) + 64;
}

int jm_train_product(const jm_product *p) {
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->c_row < p->n) return -1;
    if ((p->a_row != 1 && p->a_column != 1) || (p->b_row != 1 && p->b_column != 1)) return -1;
    if (jm_product_level() < (p->bf16 ? 2 : 1)) return -1;
#ifdef HAVE_PRODUCTS
    if (p->bf16) product_bf16(p);
    else product_fp32(p);
#endif
    return 0;
}
