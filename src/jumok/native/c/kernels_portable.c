/* The kernels in vectors of four that every compiler turns into what the machine has. */
#include "kernels.h"

#include <math.h>
#include <string.h>

#define LANES 4
#define ROWS_F32 3
#define ROWS_I8 3
#define BLOCKS 1
#define DOT_OFFSET 0
#define KERNELS jm_kernels_portable

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));

static inline vf v_set(float a) { return (vf){a, a, a, a}; }
static inline vi i_set(int32_t a) { return (vi){a, a, a, a}; }
static inline vf v_load(const float *p) {
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void v_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
static inline vf v_load_n(const float *p, int n) {
    vf v = v_set(0);
    memcpy(&v, p, (size_t)n * sizeof(float));
    return v;
}
static inline void v_store_n(float *p, vf v, int n) { memcpy(p, &v, (size_t)n * sizeof(float)); }
static inline vf v_fma(vf a, vf b, vf c) { return a * b + c; }
static inline vf v_max(vf a, vf b) {
    const vi more = a > b;
    return (vf)((more & (vi)a) | (~more & (vi)b));
}
static inline int v_any_over(vf a, vf b) {
    const vi more = a > b;
    return (more[0] | more[1] | more[2] | more[3]) != 0;
}
static inline float v_sum(vf v) { return (v[0] + v[2]) + (v[1] + v[3]); }
static inline vi i_max(vi a, vi b) {
    const vi more = a > b;
    return (more & a) | (~more & b);
}
static inline vf i_float(vi a) { return (vf){(float)a[0], (float)a[1], (float)a[2], (float)a[3]}; }
static inline vi i_round(vf v) {
    const vf magic = v_set(12582912.0f); /* adding 1.5 * 2^23 rounds */
    return (vi)(v + magic) - i_set(0x4b400000);
}
static inline void i_store_codes(int8_t *p, vi v) {
    for (int j = 0; j < LANES; j++) p[j] = (int8_t)v[j];
}
static inline float v_top(vf v) {
    const float a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
}
static inline int32_t i_top(vi v) {
    const int32_t a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
}
static inline int32_t i_sum(vi v) { return v[0] + v[1] + v[2] + v[3]; }
static inline vf v_sums(const vf *p) {
    return (vf){v_sum(p[0]), v_sum(p[1]), v_sum(p[2]), v_sum(p[3])};
}

#ifdef __wasm_simd128__ /* WebAssembly multiplies pairs of 16-bit numbers */
#include <wasm_simd128.h>

typedef v128_t wi, ai;
static inline wi w_load(const uint8_t *p) {
    return wasm_v128_xor(wasm_v128_load(p), wasm_u8x16_const_splat(128));
}
static inline ai a_load(const int8_t *p) { return wasm_i16x8_extend_low_i8x16(wasm_v128_load32_splat(p)); }
static inline vi dot4(vi acc, wi w, ai a) {
    const v128_t low = wasm_i32x4_dot_i16x8(wasm_i16x8_extend_low_i8x16(w), a);
    const v128_t high = wasm_i32x4_dot_i16x8(wasm_i16x8_extend_high_i8x16(w), a);
    return acc + (vi)wasm_i32x4_shuffle(low, high, 0, 2, 4, 6) +
           (vi)wasm_i32x4_shuffle(low, high, 1, 3, 5, 7);
}
#else
typedef vi wi;
typedef const int8_t *ai;
static inline wi w_load(const uint8_t *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline ai a_load(const int8_t *p) { return p; }
static inline vi dot4(vi acc, wi w, ai a) { /* little endian: byte 0 of a lane is the lowest */
    const vi low = i_set(255), half = i_set(128);
    return acc + ((w & low) - half) * i_set(a[0]) + ((w >> 8 & low) - half) * i_set(a[1]) +
           ((w >> 16 & low) - half) * i_set(a[2]) + ((w >> 24 & low) - half) * i_set(a[3]);
}
#endif

#include "kernels_body.h"
