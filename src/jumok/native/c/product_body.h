/* Products for one type of factors: product.c includes this file once for each, with NAME(f) =
 * f_<type>, TARGET = the attribute that allows the instructions, and HALVES = how many numbers of a
 * sum share 32 bits, a "step". Strips of a and b are laid out step by step, so that a tile of c reads
 * them from one end to the other:
 *
 *     a strip of a: [step][16 rows],   of b: [step][32 columns] */

/* 16 rows of 16 become 16 columns. */
static INLINE TARGET void NAME(turn)(__m512i r[16]) {
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int j = 0; j < 2; j++) {
            r[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + j + 2]);
            r[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + j + 2]);
        }
    for (int i = 0; i < 4; i++) {
        __m512i low = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
        __m512i high = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        __m512i low2 = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        __m512i high2 = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
        t[i] = _mm512_shuffle_i32x4(low, low2, 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(high, high2, 0x88);
        t[i + 8] = _mm512_shuffle_i32x4(low, low2, 0xdd);
        t[i + 12] = _mm512_shuffle_i32x4(high, high2, 0xdd);
    }
    for (int i = 0; i < 16; i++) r[i] = t[i];
}

static INLINE TARGET __mmask16 NAME(first)(int64_t count) {
    return count >= 16 ? 0xffff : count <= 0 ? 0 : (__mmask16)((1u << count) - 1);
}

/* Up to 16 lanes whose numbers lie one behind the other: src[lane * apart + number]. */
static INLINE TARGET void NAME(lay_long)(uint32_t *to, int64_t room, const float *src,
                                         int64_t apart, int64_t lanes, int64_t numbers) {
    const int64_t steps = (numbers + HALVES - 1) / HALVES;
    for (int64_t s = 0; s < steps; s += 16) {
        const int64_t left = numbers - s * HALVES;
        __m512i r[16];
        for (int i = 0; i < 16; i++) {
            const float *p = src + i * apart + s * HALVES;
            const __mmask16 low = i < lanes ? NAME(first)(left) : 0;
#if HALVES == 2
            const __mmask16 high = i < lanes ? NAME(first)(left - 16) : 0;
            const __m512 one = _mm512_maskz_loadu_ps(low, p);
            const __m512 two = _mm512_maskz_loadu_ps(high, p + 16);
            r[i] = (__m512i)_mm512_cvtne2ps_pbh(two, one);
#else
            r[i] = _mm512_castps_si512(_mm512_maskz_loadu_ps(low, p));
#endif
        }
        NAME(turn)(r);
        const int64_t count = steps - s < 16 ? steps - s : 16;
        if (count == 16)
            for (int i = 0; i < 16; i++) _mm512_store_si512(to + (s + i) * room, r[i]);
        else
            for (int i = 0; i < 16; i++)
                if (i < count) _mm512_store_si512(to + (s + i) * room, r[i]);
    }
}

/* The same where lanes lie side by side: src[number * apart + lane]. */
static INLINE TARGET void NAME(lay_wide)(uint32_t *to, int64_t room, const float *src,
                                         int64_t apart, int64_t lanes, int64_t numbers) {
    const __mmask16 on = NAME(first)(lanes);
#if HALVES == 2
    short order[32];
    for (int i = 0; i < 16; i++) {
        order[2 * i] = (short)i;
        order[2 * i + 1] = (short)(i + 16);
    }
    const __m512i pairs = _mm512_loadu_si512(order);
    for (int64_t k = 0; k < numbers; k += 2) {
        const __m512 one = _mm512_maskz_loadu_ps(on, src + k * apart);
        const __mmask16 both = k + 1 < numbers ? on : 0;
        const __m512 two = _mm512_maskz_loadu_ps(both, src + (k + 1) * apart);
        const __m512i pair = (__m512i)_mm512_cvtne2ps_pbh(two, one);
        _mm512_store_si512(to + k / 2 * room, _mm512_permutexvar_epi16(pairs, pair));
    }
#else
    for (int64_t k = 0; k < numbers; k++)
        _mm512_store_ps(to + k * room, _mm512_maskz_loadu_ps(on, src + k * apart));
#endif
}

static TARGET void NAME(lay)(uint32_t *to, int64_t room, const float *src, int64_t of_lane,
                             int64_t of_number, int64_t lanes, int64_t numbers) {
    if (of_number == 1) NAME(lay_long)(to, room, src, of_lane, lanes, numbers);
    else NAME(lay_wide)(to, room, src, of_number, lanes, numbers);
}

/* What happens to a tile of c after its sum. */
typedef struct {
    float *c;
    const float *bias;
    int64_t row, columns;
    int32_t add, relu;
} NAME(place);

static INLINE TARGET __m512 NAME(finish)(__m512 sum, const float *c, const float *bias, __mmask16 on,
                                         const NAME(place) *to) {
    if (to->add) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(on, c));
    if (to->bias) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(on, bias));
    /* Zero first: where one of the two is NaN the second is taken, and NaN must not vanish. */
    return to->relu ? _mm512_max_ps(_mm512_setzero_ps(), sum) : sum;
}

static INLINE TARGET void NAME(tile)(const uint32_t *a, const uint32_t *b, int64_t steps,
                                     const NAME(place) *to, const int rows) {
    __m512 left[ROWS], right[ROWS];
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) left[r] = right[r] = _mm512_setzero_ps();
    for (int r = 0; r < rows; r++) {
        _mm_prefetch((const char *)(to->c + r * to->row), _MM_HINT_T0);
        _mm_prefetch((const char *)(to->c + r * to->row + 16), _MM_HINT_T0);
    }
    for (int64_t s = 0; s < steps; s++, a += LANES, b += COLUMNS) {
#if HALVES == 2
        const __m512bh b0 = (__m512bh)_mm512_load_si512(b);
        const __m512bh b1 = (__m512bh)_mm512_load_si512(b + 16);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            const __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[r]);
            left[r] = _mm512_dpbf16_ps(left[r], x, b0);
            right[r] = _mm512_dpbf16_ps(right[r], x, b1);
        }
#else
        const __m512 b0 = _mm512_load_ps(b), b1 = _mm512_load_ps(b + 16);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            const __m512 x = _mm512_castsi512_ps(_mm512_set1_epi32((int)a[r]));
            left[r] = _mm512_fmadd_ps(x, b0, left[r]);
            right[r] = _mm512_fmadd_ps(x, b1, right[r]);
        }
#endif
    }
    const __mmask16 low = NAME(first)(to->columns), high = NAME(first)(to->columns - 16);
    const float *bias = to->bias;
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
        float *c = to->c + r * to->row;
        _mm512_mask_storeu_ps(c, low, NAME(finish)(left[r], c, bias, low, to));
        const float *more = bias ? bias + 16 : NULL;
        _mm512_mask_storeu_ps(c + 16, high, NAME(finish)(right[r], c + 16, more, high, to));
    }
}

#define TILE(n) \
    case n: NAME(tile)(a, b, steps, to, n); break;
static __attribute__((noinline)) TARGET void NAME(tiles)(const uint32_t *a, const uint32_t *b,
                                                         int64_t steps, const NAME(place) *to,
                                                         int rows) {
    switch (rows) {
        TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7)
        TILE(8) TILE(9) TILE(10) TILE(11) TILE(12) TILE(13) TILE(14)
    }
}
#undef TILE

static TARGET void NAME(product)(const jm_product *p) {
    const int64_t most = (int64_t)STRIPS * COLUMNS, deep = (int64_t)STEPS * HALVES;
    uint32_t *a = (uint32_t *)(((uintptr_t)p->scratch + 63) / 64 * 64);
    uint32_t *b = a + (int64_t)STEPS * LANES;
    const int64_t blocks = (p->n + most - 1) / most, parts = (p->k + deep - 1) / deep;
    const int64_t panels = (p->m + ROWS - 1) / ROWS, strips = (p->n + COLUMNS - 1) / COLUMNS;
    for (int64_t block = 0; block < blocks; block++) {
        const int64_t from = strips * block / blocks, end = strips * (block + 1) / blocks;
        for (int64_t part = 0; part < (parts ? parts : 1); part++) {
            const int64_t k = part * deep, numbers = p->k - k < deep ? p->k - k : deep;
            const int64_t steps = (numbers + HALVES - 1) / HALVES;
            for (int64_t strip = from; strip < end; strip++)
                for (int half = 0; half < 2; half++) {
                    const int64_t n = strip * COLUMNS + half * LANES;
                    NAME(lay)(b + (strip - from) * STEPS * COLUMNS + half * LANES, COLUMNS,
                              p->b + n * p->b_column + k * p->b_row, p->b_column, p->b_row,
                              p->n - n < LANES ? p->n - n : LANES, numbers);
                }
            for (int64_t panel = 0; panel < panels; panel++) {
                const int64_t m = p->m * panel / panels, rows = p->m * (panel + 1) / panels - m;
                NAME(lay)(a, LANES, p->a + m * p->a_row + k * p->a_column, p->a_row, p->a_column,
                          rows, numbers);
                const int last = part + 1 >= parts;
                for (int64_t strip = from; strip < end; strip++) {
                    const int64_t n = strip * COLUMNS;
                    const NAME(place) to = {
                        p->c + m * p->c_row + n, last && p->bias ? p->bias + n : NULL,
                        p->c_row, p->n - n, p->add || part, last && p->relu};
                    NAME(tiles)(a, b + (strip - from) * STEPS * COLUMNS, steps, &to, (int)rows);
                }
            }
        }
    }
}
