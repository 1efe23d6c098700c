/* Matrix products of a training step on one thread, from float32 to float32. */
#ifndef JM_PRODUCT_H
#define JM_PRODUCT_H

#include <stdint.h>

/* c (m, n) = a (m, k) b (k, n), plus what c has if `add`, plus bias (n) if there is one, and of that
 * what is above 0 if `relu`. The strides of a and b are between rows and between columns, and one of
 * the two is 1. With `bf16` both factors are rounded to bfloat16 first; sums are float32. The order
 * of a sum follows from the shapes alone. */
typedef struct {
    const float *a, *b, *bias; /* bias or NULL */
    float *c;
    void *scratch; /* jm_product_scratch() bytes */
    int64_t m, n, k, a_row, a_column, b_row, b_column, c_row;
    int32_t add, relu, bf16;
} jm_product;

/* 0: this CPU (or compiler) has no such products, 1: in float32 alone, 2: in bfloat16 too. */
int jm_product_level(void);
/* Whether they are faster in float32 than MKL's, which keeps its best code for Intel's CPUs. */
int jm_product_pays(void);
int64_t jm_product_scratch(void);
/* 0, or -1 for shapes or a kind of product that cannot be. */
int jm_train_product(const jm_product *p);

#endif
