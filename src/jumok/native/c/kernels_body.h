/* The kernels of one instruction set. Included by kernels_<level>.c, which defines
 *   LANES             floats of a vector; a block of 16 outputs is PARTS = 16 / LANES vectors
 *   vf, vi            vectors of LANES float, int32_t (vector extensions: + - * are lane by lane)
 *   v_set, v_load, v_store, v_load_n, v_store_n (the first n lanes; others read as zero), v_sum,
 *   v_any_over(a, b)  whether any lane of a is larger than in b
 *   v_top, i_top, i_sum, v_sums     the largest lane, the sum of lanes, the sums of LANES vectors
 *   v_fma(a, b, c)    a * b + c
 *   v_max(a, b)       the larger; b where one is not a number
 *   i_set, i_max, i_float (to float), i_round (float to the nearest int), i_store_codes (to int8)
 *   wi, w_load, ai, a_load, dot4    int8: acc + the sum of 4 products in each lane
 *   DOT_OFFSET        1: dot4 takes the stored byte, code + 128, so 128 * sum(a) is taken away
 *   ROWS_F32, ROWS_I8, BLOCKS       the tile kept in registers: rows x blocks of outputs
 *   KERNELS           name of the function that gives the table
 */
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define PARTS (JM_BLOCK / LANES)
#if defined(__SANITIZE_ADDRESS__)
#define UNROLL /* checked code is large enough */
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

typedef uint32_t vu __attribute__((vector_size(4 * LANES))); /* wraps around */

/* ---- y = x Wt + b ---- */

/* One vector of outputs: bias, relu, and only what exists of it. */
INLINE void put(float *y, vf v, const float *bias, int32_t relu, int64_t left) {
    if (bias) v = v + v_load(bias);
    if (relu) v = v_max(v_set(0), v);
    if (left >= LANES)
        v_store(y, v);
    else if (left > 0)
        v_store_n(y, v, (int)left);
}

/* R rows by B blocks, both constants where this is inlined: the sums stay in registers. Tall
 * tiles, which have the time, fetch weights of the next blocks (`ahead`, 64 bytes a step; past
 * the end is harmless). */
INLINE void tile_f32(const int R, const int B, const jm_matrix *m, const float *x, int64_t ldx,
                     float *y, int64_t ldy, int32_t relu, int64_t block, const char *ahead) {
    const int64_t K = m->columns;
    const float *w = (const float *)m->data + block * K * JM_BLOCK;
    vf acc[ROWS_F32][BLOCKS * PARTS], c[BLOCKS * PARTS];
    UNROLL for (int r = 0; r < R; r++) UNROLL
        for (int j = 0; j < B * PARTS; j++) acc[r][j] = v_set(0);
    for (int64_t k = 0; k < K; k++) {
        if (R > 4) __builtin_prefetch(ahead + k * 64, 0, 2);
        UNROLL for (int j = 0; j < B * PARTS; j++)
            c[j] = v_load(w + (j / PARTS * K + k) * JM_BLOCK + j % PARTS * LANES);
        UNROLL for (int r = 0; r < R; r++) {
            const vf a = v_set(x[r * ldx + k]);
            UNROLL for (int j = 0; j < B * PARTS; j++)
                acc[r][j] = v_fma(a, c[j], acc[r][j]);
        }
    }
    UNROLL for (int j = 0; j < B * PARTS; j++) {
        const int64_t n = block * JM_BLOCK + j * LANES;
        UNROLL for (int r = 0; r < R; r++)
            put(y + r * ldy + n, acc[r][j], m->bias ? m->bias + n : NULL, relu, m->rows - n);
    }
}

typedef struct {
    const int8_t *codes;
    const float *scale;
    const int32_t *sums;
} quantised;

INLINE void tile_i8(const int R, const int B, const jm_matrix *m, quantised x, int64_t ldx,
                    float *y, int64_t ldy, int32_t relu, int64_t block, const char *ahead) {
    const int64_t groups = ldx / 4;
    const uint8_t *w = (const uint8_t *)m->data + block * groups * 64;
    vi acc[ROWS_I8][BLOCKS * PARTS];
    wi c[BLOCKS * PARTS];
    UNROLL for (int r = 0; r < R; r++) UNROLL
        for (int j = 0; j < B * PARTS; j++)
            acc[r][j] = i_set(DOT_OFFSET ? (int32_t)(0u - 128u * (uint32_t)x.sums[r]) : 0);
    for (int64_t g = 0; g < groups; g++) {
        if (R > 4) __builtin_prefetch(ahead + g * 64, 0, 2);
        UNROLL for (int j = 0; j < B * PARTS; j++)
            c[j] = w_load(w + (j / PARTS * groups + g) * 64 + j % PARTS * LANES * 4);
        UNROLL for (int r = 0; r < R; r++) {
            const ai a = a_load(x.codes + r * ldx + g * 4);
            UNROLL for (int j = 0; j < B * PARTS; j++)
                acc[r][j] = dot4(acc[r][j], c[j], a);
        }
    }
    UNROLL for (int j = 0; j < B * PARTS; j++) {
        const int64_t n = block * JM_BLOCK + j * LANES;
        const vf scale = v_load(m->scale + n);
        UNROLL for (int r = 0; r < R; r++)
            put(y + r * ldy + n, i_float(acc[r][j]) * scale * v_set(x.scale[r]),
                m->bias ? m->bias + n : NULL, relu, m->rows - n);
    }
}

/* `rows` of at most `most` in tiles of nearly equal height. */
INLINE int tile_height(int32_t left, int most) {
    const int32_t tiles = (left + most - 1) / most;
    return (left + tiles - 1) / tiles;
}

/* How many of the `left` blocks the next tiles have: all of them or 2 or 1. */
INLINE int tile_blocks(int64_t left) { return left >= BLOCKS ? BLOCKS : left >= 2 ? 2 : 1; }

#define F32(R, B)                                                                  \
    case R * 8 + B:                                                                \
        tile_f32(R, B, w, x + r * ldx, ldx, y + r * ldy, ldy, relu, block, ahead); \
        break;
#define I8(R, B) \
    case R * 8 + B: tile_i8(R, B, w, at, ldx, y + r * ldy, ldy, relu, block, ahead); break;
#if BLOCKS == 4
#define EACH(T, R) T(R, 1) T(R, 2) T(R, 4)
#else
#define EACH(T, R) T(R, 1)
#endif
#if ROWS_F32 == 6
#define EACH_F32 EACH(F32, 1) EACH(F32, 2) EACH(F32, 3) EACH(F32, 4) EACH(F32, 5) EACH(F32, 6)
#else
#define EACH_F32 EACH(F32, 1) EACH(F32, 2) EACH(F32, 3)
#endif
#if ROWS_I8 == 6
#define EACH_I8 EACH(I8, 1) EACH(I8, 2) EACH(I8, 3) EACH(I8, 4) EACH(I8, 5) EACH(I8, 6)
#elif ROWS_I8 == 4
#define EACH_I8 EACH(I8, 1) EACH(I8, 2) EACH(I8, 3) EACH(I8, 4)
#else
#define EACH_I8 EACH(I8, 1) EACH(I8, 2) EACH(I8, 3)
#endif

static void linear_f32(const jm_matrix *w, const float *x, int64_t ldx, int32_t R, float *y,
                       int64_t ldy, int32_t relu, int32_t begin, int32_t end) {
    for (int64_t block = begin, B; block < end; block += B) {
        B = tile_blocks(end - block);
        const char *here = (const char *)w->data + block * w->columns * 64;
        for (int64_t r = 0, tile = B; r < R; tile++) {
            const char *ahead = here + (tile < 2 * B ? tile : 0) * w->columns * 64;
            const int h = tile_height((int32_t)(R - r), ROWS_F32);
            switch (h * 8 + B) { EACH_F32 }
            r += h;
        }
    }
}

static void linear_i8(const jm_matrix *w, const int8_t *codes, const float *scale,
                      const int32_t *sums, int32_t R, float *y, int64_t ldy, int32_t relu,
                      int32_t begin, int32_t end) {
    const int64_t ldx = jm_codes_stride(w->columns);
    for (int64_t block = begin, B; block < end; block += B) {
        B = tile_blocks(end - block);
        const char *here = (const char *)w->data + block * ldx * 16;
        for (int64_t r = 0, tile = B; r < R; tile++) {
            const char *ahead = here + (tile < 2 * B ? tile : 0) * ldx * 16;
            const int h = tile_height((int32_t)(R - r), ROWS_I8);
            const quantised at = {codes + r * ldx, scale + r, sums + r};
            switch (h * 8 + B) { EACH_I8 }
            r += h;
        }
    }
}

/* ---- rows to int8 ---- */

/* |x| as the bits of a float compares like an integer, and what is not finite is above all
 * numbers. */
static void quantise(const float *x, int64_t ldx, int32_t R, int32_t K, int8_t *codes, float *scale,
                     int32_t *sums) {
    const int64_t stride = jm_codes_stride(K);
    for (int32_t r = 0; r < R; r++, x += ldx, codes += stride) {
        vi most = i_set(0);
        int32_t k = 0;
        for (; k + LANES <= K; k += LANES)
            most = i_max(most, (vi)v_load(x + k) & i_set(0x7fffffff));
        if (k < K) most = i_max(most, (vi)v_load_n(x + k, K - k) & i_set(0x7fffffff));
        const int32_t bits = i_top(most);
        float top;
        memcpy(&top, &bits, 4);
        const int finite = bits < 0x7f800000;
        scale[r] = finite ? top / 127.0f : NAN;
        if (!finite || top < 1e-30f) { /* 127 / top would overflow */
            if (finite) scale[r] = 0;
            memset(codes, 0, (size_t)stride);
            sums[r] = 0;
            continue;
        }
        const vf inverse = v_set(127.0f / top);
        vi sum = i_set(0);
        for (k = 0; k + LANES <= K; k += LANES) {
            const vi code = i_round(v_load(x + k) * inverse);
            sum = sum + code;
            i_store_codes(codes + k, code);
        }
        if (k < K) {
            int8_t last[LANES];
            const vi code = i_round(v_load_n(x + k, K - k) * inverse);
            sum = sum + code;
            i_store_codes(last, code);
            memcpy(codes + k, last, (size_t)(stride - k)); /* K4 - k <= LANES */
        }
        sums[r] = i_sum(sum);
    }
}

/* ---- norms ---- */

static void norm(float *y, const float *x, const float *add, const float *weight, const float *bias,
                 float epsilon, int32_t R, int32_t D) {
    for (int32_t r = 0; r < R; r++, x += D, y += D) {
        vf sum[4] = {v_set(0), v_set(0), v_set(0), v_set(0)},
           square[4] = {sum[0], sum[0], sum[0], sum[0]};
        int32_t i = 0;
        for (; i + 4 * LANES <= D; i += 4 * LANES) UNROLL
            for (int j = 0; j < 4; j++) {
                vf v = v_load(x + i + j * LANES);
                if (add) v = v + v_load(add + i + j * LANES);
                sum[j] = sum[j] + v;
                v_store(y + i + j * LANES, v);
            }
        for (; i < D; i += LANES) {
            const int n = D - i < LANES ? D - i : LANES;
            vf v = v_load_n(x + i, n);
            if (add) v = v + v_load_n(add + i, n);
            sum[0] = sum[0] + v;
            v_store_n(y + i, v, n);
        }
        const float all = v_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
        const float average = bias ? all / (float)D : 0.0f;
        const vf mean = v_set(average);
        for (i = 0; i + 4 * LANES <= D; i += 4 * LANES) UNROLL
            for (int j = 0; j < 4; j++) {
                const vf v = v_load(y + i + j * LANES) - mean;
                square[j] = v_fma(v, v, square[j]);
            }
        for (; i + LANES <= D; i += LANES) {
            const vf v = v_load(y + i) - mean;
            square[0] = v_fma(v, v, square[0]);
        }
        float squares = v_sum((square[0] + square[1]) + (square[2] + square[3]));
        for (; i < D; i++) squares += (y[i] - average) * (y[i] - average);
        const vf factor = v_set(1.0f / sqrtf(squares / (float)D + epsilon));
        for (i = 0; i + LANES <= D; i += LANES) {
            const vf v = (v_load(y + i) - mean) * factor;
            v_store(y + i, v_fma(v, v_load(weight + i), bias ? v_load(bias + i) : v_set(0)));
        }
        if (i < D) {
            const vf v = (v_load_n(y + i, D - i) - mean) * factor;
            const vf shift = bias ? v_load_n(bias + i, D - i) : v_set(0);
            v_store_n(y + i, v_fma(v, v_load_n(weight + i, D - i), shift), D - i);
        }
        if (add) add += D;
    }
}

/* ---- exp, tanh, sigmoid ---- */

INLINE vf v_where(vi mask, vf yes, vf no) { return (vf)((mask & (vi)yes) | (~mask & (vi)no)); }

/* exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2; within 2 ulp. Under -87.3: 0; over
 * 88: exp(88). */
INLINE vf v_exp(vf x) {
    const vf magic = v_set(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    const vi low = x < v_set(-87.3f);
    x = v_where(x > v_set(88.0f), v_set(88.0f), x); /* what is not a number stays */
    const vf shifted = v_fma(x, v_set(1.44269504f), magic);
    const vf n = shifted - magic;
    vf r = v_fma(n, v_set(-0.693359375f), x);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    vf p = v_set(1.9875691500e-4f);
    p = v_fma(p, r, v_set(1.3981999507e-3f));
    p = v_fma(p, r, v_set(8.3334519073e-3f));
    p = v_fma(p, r, v_set(4.1665795894e-2f));
    p = v_fma(p, r, v_set(1.6666665459e-1f));
    p = v_fma(p, r, v_set(5.0000001201e-1f));
    p = v_fma(p, r * r, r) + v_set(1.0f);
    const vu power = ((vu)shifted - (vu)i_set(0x4b400000 - 127)) << 23; /* far off: any, not used */
    return (vf)(~low & (vi)(p * (vf)power));
}

INLINE vf v_abs(vf x) { return (vf)((vi)x & i_set(0x7fffffff)); }

/* Small |x|: x + x z P(z), z = x^2. Else (1 - e) / (1 + e) with e = exp(-2 |x|) and the sign of
 * x. */
INLINE vf v_tanh(vf x) {
    const vf one = v_set(1.0f), a = v_abs(x), z = x * x;
    const vf e = v_exp(a * v_set(-2.0f));
    const vf large = (one - e) / (one + e);
    vf p = v_set(-5.70498872745e-3f);
    p = v_fma(p, z, v_set(2.06390887954e-2f));
    p = v_fma(p, z, v_set(-5.37397155531e-2f));
    p = v_fma(p, z, v_set(1.33314422036e-1f));
    p = v_fma(p, z, v_set(-3.33332819422e-1f));
    const vf small = v_fma(x * z, p, x);
    const vf with_sign = (vf)((vi)large | ((vi)x & i_set((int32_t)0x80000000)));
    return v_where(a < v_set(0.625f), small, with_sign);
}

INLINE vf v_sigmoid(vf x) {
    const vf one = v_set(1.0f), e = v_exp(-v_abs(x)), d = one / (one + e);
    return v_where(x < v_set(0), e * d, d);
}

#define MAP(NAME, F)                                                                 \
    static void NAME(float *y, const float *x, int64_t n) {                          \
        int64_t i = 0;                                                               \
        for (; i + LANES <= n; i += LANES) v_store(y + i, F(v_load(x + i)));         \
        if (i < n) v_store_n(y + i, F(v_load_n(x + i, (int)(n - i))), (int)(n - i)); \
    }
MAP(exp_all, v_exp)
MAP(tanh_all, v_tanh)
MAP(sigmoid_all, v_sigmoid)

/* ---- activations ---- */

/* x Phi(x) = max(x, 0) - |x| Phi(-|x|), and Phi(-a) = erfc(a / sqrt 2) / 2. Neither part loses
 * digits where the other is small. erfc(z) = t exp(P(t) - z^2), t = 1 / (1 + z / 2), with P of
 * Numerical Recipes 6.2: within 1.2e-7 of its value for every z >= 0. */
INLINE vf v_gelu(vf x) {
    const vf one = v_set(1.0f), a = v_abs(x), square = a * a;
    const vf t = one / v_fma(a, v_set(0.353553391f), one);
    vf p = v_set(0.17087277f);
    p = v_fma(p, t, v_set(-0.82215223f));
    p = v_fma(p, t, v_set(1.48851587f));
    p = v_fma(p, t, v_set(-1.13520398f));
    p = v_fma(p, t, v_set(0.27886807f));
    p = v_fma(p, t, v_set(-0.18628806f));
    p = v_fma(p, t, v_set(0.09678418f));
    p = v_fma(p, t, v_set(0.37409196f));
    p = v_fma(p, t, v_set(1.00002368f));
    p = v_fma(p, t, v_set(-1.26551223f));
    const vf tail = t * v_exp(v_fma(square, v_set(-0.5f), p));
    return v_max(v_set(0), x) - a * v_set(0.5f) * tail;
}

/* x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), which is x (1 + tanh(...)) / 2. */
INLINE vf v_gelu_tanh(vf x) {
    const vf z = v_fma(x * x, v_set(0.0713548162726f), v_set(1.59576912160573f));
    return x * v_sigmoid(x * z);
}

INLINE vf v_silu(vf x) { return x * v_sigmoid(x); }
INLINE vf v_relu(vf x) { return v_max(v_set(0), x); }

#define ACTIVATE(F)                                                            \
    for (int32_t i = 0; i < n; i += LANES) {                                   \
        const int left = n - i < LANES ? n - i : LANES;                        \
        vf v = F(left == LANES ? v_load(y + i) : v_load_n(y + i, left));       \
        if (gate) v = v * (left == LANES ? v_load(gate + i) : v_load_n(gate + i, left)); \
        put(y + i, v, NULL, 0, left);                                          \
    }

static void activate(int32_t kind, float *y, int64_t ldy, const float *gate, int64_t ldg, int32_t R,
                     int32_t n) {
    for (int32_t r = 0; r < R; r++, y += ldy) {
        switch (kind) {
            case JM_GELU: ACTIVATE(v_gelu) break;
            case JM_GELU_TANH: ACTIVATE(v_gelu_tanh) break;
            case JM_SILU: ACTIVATE(v_silu) break;
            default: ACTIVATE(v_relu) break;
        }
        if (gate) gate += ldg;
    }
}

static void add(float *y, const float *x, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) v_store(y + i, v_load(y + i) + v_load(x + i));
    for (; i < n; i++) y[i] += x[i];
}

static float dot(const float *a, const float *b, int64_t n) {
    vf s = v_set(0);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) s = v_fma(v_load(a + i), v_load(b + i), s);
    if (i < n) s = v_fma(v_load_n(a + i, (int)(n - i)), v_load_n(b + i, (int)(n - i)), s);
    return v_sum(s);
}

/* ---- softmax and attention ---- */

/* The first n lanes of memory, n <= LANES; -inf in the others. */
INLINE vf v_load_or_least(const float *p, int n) {
    static const int32_t lane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    vi id;
    memcpy(&id, lane, sizeof id);
    return n < LANES ? v_where(id < i_set(n), v_load_n(p, n), v_set(-INFINITY)) : v_load(p);
}

/* What is not a number is passed over; n = 0: -inf. */
INLINE float largest(const float *x, int32_t n) {
    vf m = v_set(-INFINITY);
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES) m = v_max(v_load(x + i), m);
    if (i < n) m = v_max(v_load_or_least(x + i, n - i), m);
    return v_top(m);
}

/* x -> exp(x - max); the sum. Lane by lane, so its order depends on n alone. */
INLINE float exps(float *x, int32_t n) {
    const vf most = v_set(largest(x, n));
    vf sum = v_set(0);
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const vf e = v_exp(v_load(x + i) - most);
        v_store(x + i, e);
        sum = sum + e;
    }
    if (i < n) {
        const vf e = v_exp(v_load_or_least(x + i, n - i) - most);
        v_store_n(x + i, e, n - i);
        sum = sum + e;
    }
    return v_sum(sum);
}

static void softmax(float *x, int32_t n) {
    const float factor = 1.0f / exps(x, n);
    for (int32_t i = 0; i < n; i++) x[i] *= factor;
}

/* Keys or values of one head: row t stands at index[t] (or t) times `stride` bytes. */
typedef struct {
    const char *base;
    int64_t stride;
    const int32_t *index; /* or NULL */
} rows_of;

INLINE const char *row_of(rows_of m, int32_t t) {
    return m.base + (m.index ? m.index[t] : t) * m.stride;
}

/* bfloat16: the upper half of a float. Lane j of a vector of pairs has numbers j and j + LANES of
 * 2 * LANES that follow one another. */
INLINE vi halves(vf x) { /* rounded to even, in the upper half; what is no number stays none */
    const vu bits = (vu)x, odd = bits >> 16 & (vu)i_set(1);
    const vi none = (vi)(x != x), upper = i_set((int32_t)0xffff0000);
    const vi rounded = (vi)(bits + odd + (vu)i_set(0x7fff));
    return ((none & i_set(0x7fc00000)) | (~none & rounded)) & upper;
}
INLINE vf first_of(vi pairs) { return (vf)((vu)pairs << 16); }
INLINE vf second_of(vi pairs) { return (vf)(pairs & i_set((int32_t)0xffff0000)); }
INLINE vi load_pairs(const char *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* So many of the `left` numbers from `at` on as a vector has; zeros after them. */
INLINE vf v_load_left(const float *x, int32_t at, int32_t left) {
    return left >= LANES ? v_load(x + at) : left > 0 ? v_load_n(x + at, left) : v_set(0);
}

static void halve(const float *x, int64_t ldx, int32_t R, int32_t size, uint16_t *y, int64_t ldy) {
    for (int32_t r = 0; r < R; r++, x += ldx, y += ldy)
        for (int32_t i = 0; i < jm_half_size(size); i += 2 * LANES) {
            const vi a = halves(v_load_left(x, i, size - i));
            const vi b = halves(v_load_left(x, i + LANES, size - i - LANES));
            const vi pairs = (vi)((vu)a >> 16) | b;
            memcpy(y + i, &pairs, sizeof pairs);
        }
}

/* LANES products of a query with keys, `size` numbers each, one in every lane. */
INLINE vf dots(const float *query, const char *const *keys, const int size, const int half) {
    vf part[LANES];
    const int step = half ? 2 * LANES : LANES, bytes = 4 * LANES;
    UNROLL for (int i = 0; i < LANES; i++)
        part[i] = v_set(0);
    for (int j = 0; j < size; j += step) {
        const vf q = v_load_left(query, j, size - j);
        if (half) {
            const vf p = v_load_left(query, j + LANES, size - j - LANES);
            UNROLL for (int i = 0; i < LANES; i++) {
                const vi pairs = load_pairs(keys[i] + j / step * bytes);
                part[i] = v_fma(p, second_of(pairs), v_fma(q, first_of(pairs), part[i]));
            }
        } else {
            UNROLL for (int i = 0; i < LANES; i++)
                part[i] = v_fma(q, v_load_left((const float *)keys[i], j, size - j), part[i]);
        }
    }
    return v_sums(part);
}

/* weight[q][t] = scale * query[q] . key[t] for Q queries; each key is read from afar once. */
INLINE void scores(const float *query, int64_t ldq, int32_t Q, const int size, const int half,
                   float scale, rows_of keys, int32_t n, float *weight, int64_t ldw) {
    for (int32_t t = 0; t < n; t += LANES) {
        const char *some[LANES];
        for (int32_t i = 0; i < LANES; i++) some[i] = row_of(keys, t + i < n ? t + i : n - 1);
        for (int32_t q = 0; q < Q; q++)
            v_store(weight + q * ldw + t, dots(query + q * ldq, some, size, half) * v_set(scale));
    }
}

/* weight[q][t] += near[t - q]. */
static void add_near(const float *near, int32_t Q, int32_t n, float *weight, int64_t ldw) {
    for (int32_t q = 0; q < Q; q++, near--, weight += ldw)
        for (int32_t t = 0; t < n; t += LANES)
            v_store(weight + t, v_load(weight + t) + v_load(near + t));
}

/* y[q][0..P vectors) = factor[q] * sum_t weight[q][t] * row[t], for Q queries, but only `left`
 * numbers of it; Q, P and half constants. */
INLINE void weigh_tile(const int Q, const int P, const int half, float *y, int64_t ldy,
                       const float *weight, int64_t ldw, rows_of rows, int32_t n,
                       const float *factor, int32_t left) {
    vf acc[4][4], v[4];
    UNROLL for (int q = 0; q < Q; q++) UNROLL
        for (int j = 0; j < P; j++) acc[q][j] = v_set(0);
    for (int32_t t = 0; t < n; t++) {
        const char *row = row_of(rows, t);
        UNROLL for (int j = 0; j < P; j++) {
            if (!half)
                v[j] = v_load_left((const float *)row, j * LANES, left - j * LANES);
            else
                v[j] = j % 2 ? second_of(load_pairs(row + j / 2 * 4 * LANES))
                             : first_of(load_pairs(row + j / 2 * 4 * LANES));
        }
        UNROLL for (int q = 0; q < Q; q++) {
            const vf w = v_set(weight[q * ldw + t]);
            UNROLL for (int j = 0; j < P; j++)
                acc[q][j] = v_fma(w, v[j], acc[q][j]);
        }
    }
    UNROLL for (int q = 0; q < Q; q++) UNROLL
        for (int j = 0; j < P; j++)
            put(y + q * ldy + j * LANES, acc[q][j] * v_set(factor[q]), NULL, 0, left - j * LANES);
}

/* The same for any D: tiles of 4 queries x 4 vectors, then what is left of both. */
INLINE void weigh(int32_t Q, float *y, int64_t ldy, const float *weight, int64_t ldw, rows_of rows,
                  int32_t n, int32_t D, const int half, const float *factor) {
    const int few = half ? 2 : 1;
    for (int32_t i = 0, wide; i < D; i += wide) {
        wide = (D - i >= 4 * LANES ? 4 : few) * LANES;
        for (int32_t q = 0, tall; q < Q; q += tall) {
            tall = Q - q >= 4 ? 4 : 1;
            float *to = y + q * ldy + i;
            const float *w = weight + q * ldw, *f = factor + q;
            if (wide == 4 * LANES && tall == 4)
                weigh_tile(4, 4, half, to, ldy, w, ldw, rows, n, f, 4 * LANES);
            else if (wide == 4 * LANES)
                weigh_tile(1, 4, half, to, ldy, w, ldw, rows, n, f, 4 * LANES);
            else if (tall == 4)
                weigh_tile(4, few, half, to, ldy, w, ldw, rows, n, f, D - i);
            else
                weigh_tile(1, few, half, to, ldy, w, ldw, rows, n, f, D - i);
        }
        rows.base += wide * (half ? 2 : 4);
    }
}

static void weighted_sum(float *y, const float *weight, const float *rows, int64_t stride,
                         int32_t n, int32_t D) {
    const float one = 1.0f;
    weigh(1, y, 0, weight, 0, (rows_of){(const char *)rows, 4 * stride, NULL}, n, D, 0, &one);
}

/* The same rows end to end, `size` bytes of each: far rows of a power of two apart share few
 * cache lines. */
INLINE rows_of copied(rows_of from, int32_t n, int64_t size, char *to) {
    for (int32_t t = 0; t < n; t++) memcpy(to + t * size, row_of(from, t), (size_t)size);
    return (rows_of){to, size, NULL};
}

/* What one head is asked, and what of it is wanted. */
typedef struct {
    const float *query, *near;
    float *out, *written; /* written: the weights, or NULL */
    int64_t ldq, ldo, ldw;
    int32_t Q;
} asked_of;

INLINE void attend_head(const asked_of *a, const int size, const int half, float scale, rows_of keys,
                        rows_of values, int32_t n, float *weight) {
    const int64_t ldw = jm_attend_stride(n);
    float factor[JM_QUERIES];
    for (int32_t first = 0; first < a->Q; first += JM_QUERIES) {
        const int32_t some = a->Q - first < JM_QUERIES ? a->Q - first : JM_QUERIES;
        scores(a->query + first * a->ldq, a->ldq, some, size, half, scale, keys, n, weight, ldw);
        if (a->near) add_near(a->near - first, some, n, weight, ldw);
        for (int32_t i = 0; i < some; i++)
            factor[i] = n ? 1.0f / exps(weight + i * ldw, n) : 0.0f;
        weigh(some, a->out + first * a->ldo, a->ldo, weight, ldw, values, n, size, half, factor);
        for (int32_t i = 0; a->written && i < some; i++)
            for (int32_t t = 0; t < n; t++)
                a->written[(first + i) * a->ldw + t] = weight[i * ldw + t] * factor[i];
    }
}

/* Keys or values of head h. */
INLINE rows_of keys_of(const jm_memory *m, int64_t h) {
    const int64_t one = m->half ? 2 : 4;
    return (rows_of){(const char *)m->keys + h * m->head * one, m->stride * one, m->index};
}
INLINE rows_of values_of(const jm_memory *m, int64_t h) {
    const int64_t one = m->half ? 2 : 4;
    return (rows_of){(const char *)m->values + h * m->head * one, m->stride * one, m->index};
}

/* Asks for what one head will read. The places of one head lie side by side, those of the next far
 * away: where few queries look at them, waiting for them would take as long as all else. */
INLINE void fetch(const jm_memory *m, int64_t h, int64_t bytes) {
    const rows_of k = keys_of(m, h), v = values_of(m, h);
    for (int32_t t = 0; t < m->n; t++)
        for (int64_t i = 0; i < bytes; i += 64) {
            __builtin_prefetch(row_of(k, t) + i, 0, 3);
            __builtin_prefetch(row_of(v, t) + i, 0, 3);
        }
}

static void attend(const float *query, int64_t ldq, int32_t Q, int32_t heads, int32_t size,
                   float scale, const jm_memory *m, float *out, int64_t ldo, float *weight) {
    const int64_t one = m->half ? 2 : 4, bytes = size * one;
    char *copies = (char *)(weight + JM_QUERIES * jm_attend_stride(m->n));
    for (int32_t h = 0; h < heads; h++) {
        const int64_t at = (int64_t)h * size;
        rows_of k = keys_of(m, h), v = values_of(m, h);
        if (Q < JM_QUERIES && h + 1 < heads) fetch(m, h + 1, bytes);
        if (Q >= JM_QUERIES && !m->half && m->stride > size) {
            k = copied(k, m->n, bytes, copies);
            v = copied(v, m->n, bytes, copies + m->n * bytes);
        }
        const asked_of a = {.query = query + at,
                            .near = m->near ? m->near + h * m->near_head : NULL,
                            .out = out + at,
                            .written = m->weights ? m->weights + h * m->weights_head : NULL,
                            .ldq = ldq,
                            .ldo = ldo,
                            .ldw = m->weights_query,
                            .Q = Q};
        if (m->half && size == 64)
            attend_head(&a, 64, 1, scale, k, v, m->n, weight);
        else if (m->half)
            attend_head(&a, size, 1, scale, k, v, m->n, weight);
        else if (size == 64)
            attend_head(&a, 64, 0, scale, k, v, m->n, weight);
        else if (size == 32)
            attend_head(&a, 32, 0, scale, k, v, m->n, weight);
        else
            attend_head(&a, size, 0, scale, k, v, m->n, weight);
    }
}

static void weights(const float *query, int32_t size, float scale, const jm_memory *m,
                    float *weight) {
    const rows_of keys = {(const char *)m->keys, m->stride * (m->half ? 2 : 4), m->index};
    if (m->half)
        scores(query, 0, 1, size, 1, scale, keys, m->n, weight, 0);
    else
        scores(query, 0, 1, size, 0, scale, keys, m->n, weight, 0);
    if (m->n) softmax(weight, m->n);
}

/* ---- the best of all logits ---- */

/* Into the list of the k best, best first; an equal one stays behind: it has the higher id. */
INLINE int32_t insert(float value, int32_t id, float *values, int32_t *ids, int32_t count,
                      int32_t k) {
    int32_t at = count < k ? count : k - 1;
    for (; at > 0 && values[at - 1] < value; at--) {
        values[at] = values[at - 1];
        ids[at] = ids[at - 1];
    }
    values[at] = value;
    ids[at] = id;
    return count < k ? count + 1 : count;
}

/* exp(x - most) is added to *part and, if it is wanted, exp(x - most) (x - most) to *far. */
INLINE void add_exp(vf x, float most, const int spreads, vf *part, vf *far) {
    const vf below = x - v_set(most), e = v_exp(below);
    *part = *part + e;
    if (spreads) *far = v_fma(e, v_max(below, v_set(-200)), *far); /* not 0 times -inf */
}

INLINE void sum_exp_of(const float *logits, int32_t n, const int spreads, float *max, float *sum,
                       float *spread) {
    const float most = largest(logits, n);
    int32_t i = 0;
    *max = most;
    if (spreads) *spread = 0;
    if (most == -INFINITY) { /* -inf - -inf is not a number */
        for (*sum = 0; i < n; i++) *sum = logits[i] != logits[i] ? logits[i] : *sum;
        return;
    }
    vf part[4] = {v_set(0), v_set(0), v_set(0), v_set(0)}, far[4] = {part[0], part[0], part[0], part[0]};
    for (; i + 4 * LANES <= n; i += 4 * LANES) UNROLL
        for (int j = 0; j < 4; j++)
            add_exp(v_load(logits + i + j * LANES), most, spreads, &part[j], &far[j]);
    for (; i + LANES <= n; i += LANES) add_exp(v_load(logits + i), most, spreads, &part[0], &far[0]);
    if (i < n) add_exp(v_load_or_least(logits + i, n - i), most, spreads, &part[1], &far[1]);
    *sum = v_sum((part[0] + part[1]) + (part[2] + part[3]));
    if (spreads) *spread = v_sum((far[0] + far[1]) + (far[2] + far[3]));
}

static void sum_exp(const float *logits, int32_t n, float *max, float *sum, float *spread) {
    if (spread)
        sum_exp_of(logits, n, 1, max, sum, spread);
    else
        sum_exp_of(logits, n, 0, max, sum, NULL);
}

static int32_t top(const float *logits, int32_t n, int32_t first, const uint8_t *allowed, int32_t k,
                   float *values, int32_t *ids, int32_t found) {
    float bar = found >= k && k > 0 ? values[k - 1] : -INFINITY; /* the k-th best so far */
    for (int32_t i = 0; k > 0 && i < n; i += 4 * LANES) {
        const int32_t end = n - i < 4 * LANES ? n : i + 4 * LANES;
        if (end - i == 4 * LANES) { /* most are passed over here */
            const vf a = v_max(v_load(logits + i), v_set(bar));
            const vf b = v_max(v_load(logits + i + LANES), a);
            const vf c = v_max(v_load(logits + i + 2 * LANES), b);
            if (!v_any_over(v_max(v_load(logits + i + 3 * LANES), c), v_set(bar))) continue;
        }
        for (int32_t part = i; part < end; part += LANES) {
            const int32_t last = end - part < LANES ? end : part + LANES;
            if (last - part == LANES && !v_any_over(v_load(logits + part), v_set(bar))) continue;
            for (int32_t j = part; j < last; j++)
                if (logits[j] > bar && (!allowed || allowed[j])) {
                    found = insert(logits[j], first + j, values, ids, found, k);
                    if (found == k) bar = values[k - 1];
                }
        }
    }
    return found;
}

const jm_kernels *KERNELS(void) {
    static const jm_kernels table = {
        linear_f32, linear_i8, quantise, norm,     activate,    halve, attend,  weights,
        sum_exp,    top,       add,      exp_all,  tanh_all,    sigmoid_all,    dot,
        softmax,    weighted_sum,
    };
    return &table;
}
