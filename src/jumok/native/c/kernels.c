/* The choice of instruction set, packing, and what needs no vectors. */
#include "kernels.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif
#ifdef _WIN32
#include <malloc.h>
#endif

/* ---- dispatch ---- */

static const jm_kernels *kernels_of(int level) {
    switch (level) {
        case JM_PORTABLE: return jm_kernels_portable();
        case JM_AVX2: return jm_kernels_avx2();
        case JM_AVX512: return jm_kernels_avx512();
        case JM_VNNI: return jm_kernels_vnni();
        case JM_NEON: return jm_kernels_neon();
        default: return NULL;
    }
}

#if defined(__x86_64__) || defined(__i386__)
/* What the CPU and the operating system (saved registers, XCR0) both support. */
static int cpu_levels(void) {
    unsigned a, b, c, d, low, high;
    int mask = 1 << JM_PORTABLE;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return mask;
    const int fma = (c & bit_FMA) != 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return mask;
    if ((low & 0x6) == 0x6 && fma && (b & bit_AVX2)) mask |= 1 << JM_AVX2;
    const unsigned wide = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ;
    if ((low & 0xe6) == 0xe6 && fma && (b & wide) == wide) {
        mask |= 1 << JM_AVX512;
        if (c & (1u << 11)) mask |= 1 << JM_VNNI;
        if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 5))) mask |= JM_CPU_BF16;
    }
    if (__get_cpuid(0, &a, &b, &c, &d) && b == signature_INTEL_ebx) mask |= JM_CPU_INTEL;
    return mask;
}
#elif defined(__aarch64__) && defined(__linux__)
static int cpu_levels(void) {
    const unsigned long asimddp = 1ul << 20; /* HWCAP_ASIMDDP */
    return 1 << JM_PORTABLE | ((getauxval(AT_HWCAP) & asimddp) ? 1 << JM_NEON : 0);
}
#elif defined(__aarch64__) && defined(__APPLE__)
static int cpu_levels(void) { return 1 << JM_PORTABLE | 1 << JM_NEON; }
#else
static int cpu_levels(void) { return 1 << JM_PORTABLE; }
#endif

static _Atomic int chosen = -1; /* the level in use; -1: not yet chosen */

int jm_cpu(void) { /* asked once: in a virtual machine the question is slow */
    static _Atomic int known = 0;
    int mask = atomic_load_explicit(&known, memory_order_relaxed);
    if (!mask) atomic_store_explicit(&known, mask = cpu_levels(), memory_order_relaxed);
    return mask;
}

int jm_levels(void) {
    int mask = 0;
    for (int level = 0; level < JM_LEVELS; level++)
        if (kernels_of(level)) mask |= jm_cpu() & 1 << level;
    return mask;
}

int jm_level(void) {
    int level = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (level >= 0) return level;
    const int mask = jm_levels();
    for (level = JM_LEVELS - 1; level > 0 && !(mask >> level & 1);) level--;
    atomic_store_explicit(&chosen, level, memory_order_relaxed);
    return level;
}

int jm_set_level(int level) {
    if (level < 0 || level >= JM_LEVELS || !(jm_levels() >> level & 1)) return -1;
    atomic_store_explicit(&chosen, level, memory_order_relaxed);
    return 0;
}

static const jm_kernels *now(void) { return kernels_of(jm_level()); }

/* ---- working memory ---- */

#ifdef _WIN32
void *jm_aligned(size_t bytes) { return _aligned_malloc(bytes, 64); }
void jm_free_aligned(void *memory) { _aligned_free(memory); }
#else
void *jm_aligned(size_t bytes) { return aligned_alloc(64, bytes); }
void jm_free_aligned(void *memory) { free(memory); }
#endif

void *jm_scratch_get(jm_scratch *s, size_t bytes) {
    if (bytes <= s->size) return s->memory;
    jm_free_aligned(s->memory);
    s->size = 0;
    const size_t size = (bytes + bytes / 2 + 4095) / 4096 * 4096;
    s->memory = size < bytes ? NULL : jm_aligned(size);
    if (s->memory) s->size = size;
    return s->memory;
}

void jm_scratch_free(jm_scratch *s) {
    jm_free_aligned(s->memory);
    s->memory = NULL;
    s->size = 0;
}

/* ---- packing ---- */

static size_t blocks_of(int32_t rows) { return ((size_t)rows + 15) / 16; }

static int is_shape(int32_t rows, int32_t columns) { return rows >= 0 && columns >= 0; }

size_t jm_packed_f32(int32_t rows, int32_t columns) {
    return is_shape(rows, columns) ? blocks_of(rows) * 16 * (size_t)columns * sizeof(float) : 0;
}

size_t jm_packed_i8(int32_t rows, int32_t columns) {
    return is_shape(rows, columns) ? blocks_of(rows) * 16 * (((size_t)columns + 3) / 4 * 4) : 0;
}

/* The largest |w| as the bits of a float, which compare like integers: infinity, and above it what
 * is not a number, are above all others. */
static int32_t most_bits(const float *w, size_t n) {
    int32_t most = 0;
    for (size_t k = 0; k < n; k++) {
        int32_t bits;
        memcpy(&bits, w + k, sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    return most;
}

enum { NOT_FINITE = 0x7f800000, SOME = 128 }; /* columns at a time: so many of 16 rows stay near */

int jm_pack_f32(const float *w, int32_t rows, int32_t columns, float *out) {
    const size_t K = (size_t)columns;
    if (!is_shape(rows, columns)) return -1;
    memset(out, 0, jm_packed_f32(rows, columns));
    for (size_t first = 0; first < (size_t)rows; first += 16) {
        const size_t last = first + 16 < (size_t)rows ? first + 16 : (size_t)rows;
        if (most_bits(w + first * K, (last - first) * K) >= NOT_FINITE) return -1;
        for (size_t k = 0; k < K; k += SOME)
            for (size_t n = first; n < last; n++)
                for (size_t j = k; j < K && j < k + SOME; j++)
                    out[(first * K + j * 16) + n % 16] = w[n * K + j];
    }
    return 0;
}

/* The byte of column 4 g + j of row n stands at block n/16, group g, lane n%16, place j. */
static size_t place_i8(size_t n, size_t k, size_t groups) {
    return ((n / 16 * groups + k / 4) * 16 + n % 16) * 4 + k % 4;
}

int jm_pack_i8(const float *w, int32_t rows, int32_t columns, uint8_t *codes, float *scale) {
    const size_t K = (size_t)columns, groups = (K + 3) / 4;
    if (!is_shape(rows, columns)) return -1;
    memset(codes, 128, jm_packed_i8(rows, columns));
    memset(scale, 0, blocks_of(rows) * 16 * sizeof(float));
    for (size_t n = 0; n < (size_t)rows; n++) {
        const int32_t bits = most_bits(w + n * K, K);
        float most;
        if (bits >= NOT_FINITE) return -1;
        memcpy(&most, &bits, sizeof most);
        const float s = most / 127.0f;
        scale[n] = s;
        if (!(s > 0)) continue;
        for (size_t k = 0; k < K; k += SOME) {
            const size_t some = K - k < SOME ? K - k : SOME;
            uint8_t byte[SOME + 4];
            memset(byte, 128, sizeof byte);
            for (size_t j = 0; j < some; j++) {
                const float code = w[n * K + k + j] / s;
                const float within = code > 127 ? 127 : code < -127 ? -127 : code;
                const float rounded = (within + 12582912.0f) - 12582912.0f; /* to even in a tie */
                byte[j] = (uint8_t)((int32_t)rounded + 128);
            }
            for (size_t j = 0; j < some; j += 4)
                memcpy(codes + place_i8(n, k + j, groups), byte + j, 4);
        }
    }
    return 0;
}

int jm_unpack_i8(const uint8_t *codes, const float *scale, int32_t rows, int32_t columns,
                 float *out) {
    const size_t K = (size_t)columns, groups = (K + 3) / 4;
    if (!is_shape(rows, columns)) return -1;
    for (size_t n = 0; n < (size_t)rows; n++)
        for (size_t k = 0; k < K; k++)
            out[n * K + k] = (float)(codes[place_i8(n, k, groups)] - 128) * scale[n];
    return 0;
}

void jm_embed(const jm_matrix *table, const int32_t *ids, int32_t R, float scale, float *y) {
    const size_t K = (size_t)table->columns, groups = (K + 3) / 4;
    for (int32_t r = 0; r < R; r++, y += K) {
        const size_t n = (size_t)ids[r];
        if (table->type == JM_F32) {
            const float *from = (const float *)table->data + n / 16 * 16 * K + n % 16;
            for (size_t k = 0; k < K; k++) y[k] = from[k * 16] * scale;
        } else {
            const uint8_t *from =
                (const uint8_t *)table->data + (n / 16 * groups * 16 + n % 16) * 4;
            const float s = table->scale[n];
            size_t k = 0;
            for (; k + 4 <= K; k += 4, from += 64)
                for (size_t j = 0; j < 4; j++) y[k + j] = (float)(from[j] - 128) * s * scale;
            for (; k < K; k++) y[k] = (float)(from[k % 4] - 128) * s * scale;
        }
    }
}

void jm_select_rows(const jm_matrix *w, const int32_t *ids, int32_t count, void *data, float *scale,
                    float *bias, jm_matrix *out) {
    const int i8 = w->type == JM_I8;
    const size_t steps = i8 ? ((size_t)w->columns + 3) / 4 : (size_t)w->columns; /* 64 bytes each */
    const size_t padded = blocks_of(count) * 16;
    const uint8_t zero[4] = {i8 ? 128 : 0, i8 ? 128 : 0, i8 ? 128 : 0, i8 ? 128 : 0};
    for (size_t i = 0; i < padded; i++) {
        uint8_t *to = (uint8_t *)data + (i / 16 * steps * 16 + i % 16) * 4;
        if (i >= (size_t)count) {
            for (size_t g = 0; g < steps; g++) memcpy(to + g * 64, zero, 4);
            if (scale) scale[i] = 0;
            if (bias) bias[i] = 0;
            continue;
        }
        const size_t n = (size_t)ids[i];
        const uint8_t *from = (const uint8_t *)w->data + (n / 16 * steps * 16 + n % 16) * 4;
        for (size_t g = 0; g < steps; g++) memcpy(to + g * 64, from + g * 64, 4);
        if (i8) scale[i] = w->scale[n];
        if (w->bias) bias[i] = w->bias[n];
    }
    *out = (jm_matrix){count, w->columns, w->type, data, i8 ? scale : NULL, w->bias ? bias : NULL};
}

/* ---- the kernels, by the chosen level ---- */

int jm_linear(const jm_matrix *w, const float *x, int64_t ldx, int32_t R, float *y, int64_t ldy,
              int32_t relu, jm_scratch *s) {
    const jm_kernels *k = now();
    if (w->type == JM_F32) {
        k->linear_f32(w, x, ldx, R, y, ldy, relu, 0, jm_blocks(w->rows));
        return 0;
    }
    const size_t rows = (size_t)R, stride = (size_t)jm_codes_stride(w->columns);
    float *scale = jm_scratch_get(s, rows * (sizeof(float) + sizeof(int32_t) + stride));
    if (!scale) return R > 0 ? -1 : 0;
    int32_t *sums = (int32_t *)(scale + rows);
    int8_t *codes = (int8_t *)(sums + rows);
    k->quantise(x, ldx, R, w->columns, codes, scale, sums);
    k->linear_i8(w, codes, scale, sums, R, y, ldy, relu, 0, jm_blocks(w->rows));
    return 0;
}

void jm_linear_blocks(const jm_matrix *w, const float *x, int64_t ldx, int32_t R, float *y,
                      int64_t ldy, int32_t relu, int32_t begin, int32_t end) {
    now()->linear_f32(w, x, ldx, R, y, ldy, relu, begin, end);
}

void jm_linear_quantised(const jm_matrix *w, const int8_t *codes, const float *scale,
                         const int32_t *sums, int32_t R, float *y, int64_t ldy, int32_t relu,
                         int32_t begin, int32_t end) {
    now()->linear_i8(w, codes, scale, sums, R, y, ldy, relu, begin, end);
}

void jm_quantise(const float *x, int64_t ldx, int32_t R, int32_t K, int8_t *codes, float *scale,
                 int32_t *sums) {
    now()->quantise(x, ldx, R, K, codes, scale, sums);
}

void jm_norm(float *y, const float *x, const float *add, const float *weight, const float *bias,
             float epsilon, int32_t R, int32_t D) {
    now()->norm(y, x, add, weight, bias, epsilon, R, D);
}

void jm_activate(int32_t kind, float *y, int64_t ldy, const float *gate, int64_t ldg, int32_t R,
                 int32_t n) {
    now()->activate(kind, y, ldy, gate, ldg, R, n);
}

int jm_attend(const float *query, int64_t ldq, int32_t Q, int32_t heads, int32_t size, float scale,
              const jm_memory *m, float *out, int64_t ldo, jm_scratch *s) {
    const size_t copies = Q >= JM_QUERIES && !m->half ? 2 * (size_t)m->n * (size_t)size : 0;
    float *weights = jm_scratch_get(
        s, (JM_QUERIES * (size_t)jm_attend_stride(m->n) + copies + 1) * sizeof(float));
    if (!weights) return -1;
    now()->attend(query, ldq, Q, heads, size, scale, m, out, ldo, weights);
    return 0;
}

void jm_weights(const float *query, int32_t size, float scale, const jm_memory *m, float *weight) {
    now()->weights(query, size, scale, m, weight);
}

void jm_halve(const float *x, int64_t ldx, int32_t R, int32_t size, uint16_t *y, int64_t ldy) {
    now()->halve(x, ldx, R, size, y, ldy);
}

int32_t jm_log_softmax_top(const float *logits, int32_t V, int32_t k, const uint8_t *allowed,
                           float *values, int32_t *ids, float *log_sum) {
    float max, sum;
    jm_sum_exp(logits, V, &max, &sum, NULL);
    const int32_t found = jm_top(logits, V, 0, allowed, k, values, ids, 0);
    const float log_total = logf(sum);
    for (int32_t i = 0; i < found; i++) values[i] = values[i] - max - log_total;
    *log_sum = max + log_total;
    return found;
}

void jm_sum_exp(const float *logits, int32_t n, float *max, float *sum, float *spread) {
    now()->sum_exp(logits, n, max, sum, spread);
}

int32_t jm_top(const float *logits, int32_t n, int32_t first, const uint8_t *allowed, int32_t k,
               float *values, int32_t *ids, int32_t found) {
    return now()->top(logits, n, first, allowed, k, values, ids, found);
}

void jm_add(float *y, const float *x, int64_t n) { now()->add(y, x, n); }
void jm_exp(float *y, const float *x, int64_t n) { now()->exp(y, x, n); }
void jm_tanh(float *y, const float *x, int64_t n) { now()->tanh(y, x, n); }
void jm_sigmoid(float *y, const float *x, int64_t n) { now()->sigmoid(y, x, n); }
float jm_dot(const float *a, const float *b, int64_t n) { return now()->dot(a, b, n); }
void jm_softmax(float *x, int32_t n) { now()->softmax(x, n); }

void jm_weighted_sum(float *y, const float *weight, const float *rows, int64_t stride, int32_t n,
                     int32_t D) {
    now()->weighted_sum(y, weight, rows, stride, n, D);
}
