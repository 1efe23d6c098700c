/* NEON with the dot product of bytes (Armv8.2). */
#include "kernels.h"

#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)

#include <arm_neon.h>

#define LANES 4
#define ROWS_F32 6
#define ROWS_I8 6
#define BLOCKS 1
#define DOT_OFFSET 0
#define KERNELS jm_kernels_neon

typedef float32x4_t vf;
typedef int32x4_t vi;

static inline vf v_set(float a) { return vdupq_n_f32(a); }
static inline vi i_set(int32_t a) { return vdupq_n_s32(a); }
static inline vf v_load(const float *p) { return vld1q_f32(p); }
static inline void v_store(float *p, vf v) { vst1q_f32(p, v); }
static inline vf v_load_n(const float *p, int n) {
    float four[4] = {0, 0, 0, 0};
    __builtin_memcpy(four, p, (size_t)n * sizeof(float));
    return vld1q_f32(four);
}
static inline void v_store_n(float *p, vf v, int n) {
    __builtin_memcpy(p, &v, (size_t)n * sizeof(float));
}
static inline vf v_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
static inline vf v_max(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
static inline int v_any_over(vf a, vf b) { return vmaxvq_u32(vcgtq_f32(a, b)) != 0; }
static inline float v_sum(vf v) { return vaddvq_f32(v); }
static inline vi i_max(vi a, vi b) { return vmaxq_s32(a, b); }
static inline vf i_float(vi a) { return vcvtq_f32_s32(a); }
static inline vi i_round(vf v) { return vcvtnq_s32_f32(v); }
static inline void i_store_codes(int8_t *p, vi v) {
    for (int j = 0; j < LANES; j++) p[j] = (int8_t)v[j];
}
static inline float v_top(vf v) { return vmaxvq_f32(v); }
static inline int32_t i_top(vi v) { return vmaxvq_s32(v); }
static inline int32_t i_sum(vi v) { return vaddvq_s32(v); }
static inline vf v_sums(const vf *p) {
    return vpaddq_f32(vpaddq_f32(p[0], p[1]), vpaddq_f32(p[2], p[3]));
}

typedef int8x16_t wi, ai;
static inline wi w_load(const uint8_t *p) {
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(p), vdupq_n_u8(128)));
}
static inline ai a_load(const int8_t *p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}
static inline vi dot4(vi acc, wi w, ai a) { return vdotq_s32(acc, w, a); }

#include "kernels_body.h"

#else

const jm_kernels *jm_kernels_neon(void) { return NULL; }

#endif
