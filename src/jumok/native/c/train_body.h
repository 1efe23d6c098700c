/* What lies between the matrix products of a training step, for one instruction set: train.c
 * includes this file once for each, with NAME(f) = f_<set> and TARGET = the attribute that allows
 * its instructions. Vectors are of 16 floats; the compiler cuts them to what the set has. */

/* 16 random 32-bit numbers: a hash of the column under two keys of the row (two rounds of multiply
 * and shift; the constants are those of lowbias32). */
static INLINE TARGET vu NAME(draw)(vu column, row_keys key) {
    vu h = column * 0x9E3779B9u + key.first;
    h ^= h >> 16;
    h *= 0x7FEB352Du;
    h ^= h >> 15;
    h += key.second;
    h *= 0x846CA68Bu;
    return h ^ (h >> 16);
}

/* v * scale where the draw keeps it, else 0. */
static INLINE TARGET vf NAME(dropped)(vf v, int32_t column, row_keys key, const jm_dropout *drop) {
    vu h = NAME(draw)(LANES + (uint32_t)column, key);
    vi keep = h >= drop->threshold;
    vf scaled = v * drop->scale;
    return (vf)((vi)scaled & keep);
}

static INLINE TARGET float NAME(sum)(vf v) {
    float t[16];
    memcpy(t, &v, sizeof t);
    vf4 a = *(const vf4u *)t + *(const vf4u *)(t + 8);
    vf4 b = *(const vf4u *)(t + 4) + *(const vf4u *)(t + 12);
    a += b;
    return (a[0] + a[2]) + (a[1] + a[3]);
}

static INLINE TARGET float NAME(maximum)(vf v) {
    float most = v[0];
    for (int i = 1; i < 16; i++) most = v[i] > most ? v[i] : most;
    return most;
}

/* e^v to 2e-7 of it; 0 below -87, NaN for NaN. */
static INLINE TARGET vf NAME(exp)(vf v) {
    const vf magic = SPREAD(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    vi low = v < -87.0f;
    vf x = (vf)(((vi)v & ~low) | ((vi)SPREAD(-87.0f) & low));
    vf shifted = x * 1.44269504088896341f + magic;
    vf n = shifted - magic;
    vf r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    vf p = SPREAD(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    vi power = (((vi)shifted - (vi)magic) + 127) << 23;
    return (vf)((vi)(p * (vf)power) & ~low);
}

/* Columns past the last whole vector, padded with `filler`. */
static INLINE TARGET vf NAME(load)(const float *p, int32_t left, float filler) {
    if (left >= 16) return *(const vfu *)p;
    float t[16];
    for (int i = 0; i < 16; i++) t[i] = i < left ? p[i] : filler;
    vf v;
    memcpy(&v, t, sizeof v);
    return v;
}

static INLINE TARGET void NAME(store)(float *p, int32_t left, vf v) {
    if (left >= 16) {
        *(vfu *)p = v;
        return;
    }
    float t[16];
    memcpy(t, &v, sizeof t);
    memcpy(p, t, (size_t)left * sizeof *t);
}

static TARGET void NAME(add_norm)(const jm_add_norm *a) {
    const int32_t D = a->width;
    for (int64_t r = 0; r < a->rows; r++) {
        row_keys key = keys_of(&a->drop, r);
        const float *x = a->x + r * D, *f = a->f + r * D;
        float *s = a->s + r * D, *y = a->y + r * D;
        vf total = SPREAD(0.0f);
        for (int32_t d = 0; d < D; d += 16) {
            vf v = NAME(load)(f + d, D - d, 0.0f);
            if (a->bias) v += NAME(load)(a->bias + d, D - d, 0.0f);
            if (a->drop.threshold) v = NAME(dropped)(v, d, key, &a->drop);
            v += NAME(load)(x + d, D - d, 0.0f);
            NAME(store)(s + d, D - d, v);
            total += v;
        }
        const float mean = NAME(sum)(total) / (float)D;
        vf squares = SPREAD(0.0f);
        for (int32_t d = 0; d < D; d += 16) {
            vf v = NAME(load)(s + d, D - d, mean) - mean;
            squares += v * v;
        }
        const float scale = 1.0f / sqrtf(NAME(sum)(squares) / (float)D + a->epsilon);
        for (int32_t d = 0; d < D; d += 16) {
            vf v = (NAME(load)(s + d, D - d, 0.0f) - mean) * scale;
            v = v * NAME(load)(a->weight + d, D - d, 0.0f) + NAME(load)(a->shift + d, D - d, 0.0f);
            NAME(store)(y + d, D - d, v);
        }
        a->mean[r] = mean;
        a->scale[r] = scale;
    }
}

static TARGET void NAME(add_norm_back)(const jm_add_norm_back *a) {
    const int32_t D = a->width;
    float *d_weight = a->sums, *d_shift = a->sums + D, *d_bias = a->sums + 2 * (int64_t)D;
    for (int64_t r = 0; r < a->rows; r++) {
        row_keys key = keys_of(&a->drop, r);
        const float *dy = a->dy + r * D, *s = a->s + r * D, *ds = a->ds ? a->ds + r * D : NULL;
        float *dx = a->dx + r * D, *df = a->df + r * D;
        const float mean = a->mean[r], scale = a->scale[r];
        vf grads = SPREAD(0.0f), slopes = SPREAD(0.0f);
        for (int32_t d = 0; d < D; d += 16) {
            const int32_t left = D - d;
            vf g = NAME(load)(dy + d, left, 0.0f);
            vf n = (NAME(load)(s + d, left, mean) - mean) * scale;
            NAME(store)(d_weight + d, left, NAME(load)(d_weight + d, left, 0.0f) + g * n);
            NAME(store)(d_shift + d, left, NAME(load)(d_shift + d, left, 0.0f) + g);
            g *= NAME(load)(a->weight + d, left, 0.0f);
            grads += g;
            slopes += g * n;
        }
        const float grad = NAME(sum)(grads) / (float)D, slope = NAME(sum)(slopes) / (float)D;
        for (int32_t d = 0; d < D; d += 16) {
            const int32_t left = D - d;
            vf n = (NAME(load)(s + d, left, mean) - mean) * scale;
            vf g = NAME(load)(dy + d, left, 0.0f) * NAME(load)(a->weight + d, left, 0.0f);
            g = (g - grad - n * slope) * scale;
            if (ds) g += NAME(load)(ds + d, left, 0.0f);
            NAME(store)(dx + d, left, g);
            if (a->drop.threshold) g = NAME(dropped)(g, d, key, &a->drop);
            NAME(store)(df + d, left, g);
            if (a->has_bias) NAME(store)(d_bias + d, left, NAME(load)(d_bias + d, left, 0.0f) + g);
        }
    }
}

static TARGET void NAME(drop)(const float *x, float *y, int64_t rows, int32_t D,
                              const jm_dropout *drop) {
    for (int64_t r = 0; r < rows; r++) {
        row_keys key = keys_of(drop, r);
        for (int32_t d = 0; d < D; d += 16) {
            vf v = NAME(load)(x + r * D + d, D - d, 0.0f);
            NAME(store)(y + r * D + d, D - d, NAME(dropped)(v, d, key, drop));
        }
    }
}

/* x where y is above 0, or all of it without a y, and its sum over rows. Columns in strips, so that
 * their sums stay in registers. */
static TARGET void NAME(columns)(float *x, const float *y, int64_t rows, int32_t N, float *sums) {
    for (int32_t n = 0; n < N; n += 64) {
        vf total[4] = {SPREAD(0.0f), SPREAD(0.0f), SPREAD(0.0f), SPREAD(0.0f)};
        const int32_t end = N - n < 64 ? N - n : 64;
        for (int64_t r = 0; r < rows; r++) {
            float *xr = x + r * N + n;
            const float *yr = y ? y + r * N + n : NULL;
            for (int32_t i = 0; i < end; i += 16) {
                vf v = NAME(load)(xr + i, end - i, 0.0f);
                if (yr) {
                    vi on = NAME(load)(yr + i, end - i, 0.0f) > 0.0f;
                    v = (vf)((vi)v & on);
                    NAME(store)(xr + i, end - i, v);
                }
                total[i / 16] += v;
            }
        }
        for (int32_t i = 0; i < end; i += 16) NAME(store)(sums + n + i, end - i, total[i / 16]);
    }
}

static TARGET void NAME(smoothed)(const jm_smoothed *a) {
    const int32_t V = a->vocabulary;
    const float even = a->smoothing / (float)V;
    for (int64_t r = 0; r < a->rows; r++) {
        float *x = a->logits + r * a->stride;
        const int32_t right = a->target[r];
        const float at = x[right];
        vf top = NAME(load)(x, V, -INFINITY), sums = SPREAD(0.0f), all = SPREAD(0.0f);
        for (int32_t v = 16; v < V; v += 16) {
            vf one = NAME(load)(x + v, V - v, -INFINITY);
            vi more = one > top;
            top = (vf)(((vi)one & more) | ((vi)top & ~more));
        }
        const float most = NAME(maximum)(top);
        for (int32_t v = 0; v < V; v += 16) {
            vf one = NAME(load)(x + v, V - v, most);
            all += one - most;
            one = NAME(exp)(NAME(load)(x + v, V - v, -INFINITY) - most);
            sums += one;
            if (a->grad) NAME(store)(x + v, V - v, one);
        }
        const float z = NAME(sum)(sums), log_z = logf(z) + most;
        const float nll = log_z - at, mean = NAME(sum)(all) / (float)V + most;
        const int real = right != 0; /* 0 is BOS, which nothing predicts */
        a->nll[r] = real ? nll : 0.0f;
        a->loss[r] = real ? (1.0f - a->smoothing) * nll + a->smoothing * (log_z - mean) : 0.0f;
        if (!a->grad) continue;
        const float share = real ? 1.0f / z : 0.0f, less = real ? even : 0.0f;
        for (int32_t v = 0; v < V; v += 16)
            NAME(store)(x + v, V - v, NAME(load)(x + v, V - v, 0.0f) * share - less);
        if (real) x[right] -= 1.0f - a->smoothing;
    }
}

/* log Z of a row of logits, and the sum of (x - log Z). Lanes behind the end count for nothing. */
static INLINE TARGET float NAME(log_z)(const float *x, int32_t V, float *all) {
    vf top = NAME(load)(x, V, -INFINITY), sums = SPREAD(0.0f), rest = SPREAD(0.0f);
    for (int32_t v = 16; v < V; v += 16) {
        vf one = NAME(load)(x + v, V - v, -INFINITY);
        vi more = one > top;
        top = (vf)(((vi)one & more) | ((vi)top & ~more));
    }
    const float most = NAME(maximum)(top);
    for (int32_t v = 0; v < V; v += 16) {
        rest += NAME(load)(x + v, V - v, most) - most;
        sums += NAME(exp)(NAME(load)(x + v, V - v, -INFINITY) - most);
    }
    const float log_z = logf(NAME(sum)(sums)) + most;
    *all = NAME(sum)(rest) + (most - log_z) * (float)V;
    return log_z;
}

/* R-Drop: row r is row r of the first pass and row rows + r of the second. */
static TARGET void NAME(rdrop)(const jm_smoothed *a, float alpha) {
    const int32_t V = a->vocabulary;
    const float even = 0.5f * a->smoothing / (float)V, share = 0.25f * alpha;
    const float behind = -1e30f; /* no probability, and finite */
    for (int64_t r = 0; r < a->rows; r++) {
        float *x = a->logits + r * a->stride, *y = a->logits + (a->rows + r) * a->stride;
        const int32_t right = a->target[r];
        float all_x, all_y;
        const float zx = NAME(log_z)(x, V, &all_x), zy = NAME(log_z)(y, V, &all_y);
        const float nll = 0.5f * ((zx - x[right]) + (zy - y[right]));
        vf to_y = SPREAD(0.0f), to_x = SPREAD(0.0f);
        for (int32_t v = 0; v < V; v += 16) {
            vf ax = NAME(load)(x + v, V - v, behind) - zx, ay = NAME(load)(y + v, V - v, behind) - zy;
            to_y += NAME(exp)(ax) * (ax - ay);
            to_x += NAME(exp)(ay) * (ay - ax);
        }
        const float kl_x = NAME(sum)(to_y), kl_y = NAME(sum)(to_x); /* KL(p_x || p_y), KL(p_y || p_x) */
        const int real = right != 0; /* 0 is BOS, which nothing predicts */
        const float smooth = -0.5f * (all_x + all_y) / (float)V;
        a->nll[r] = real ? nll : 0.0f;
        a->loss[r] = real ? (1.0f - a->smoothing) * nll + a->smoothing * smooth + share * (kl_x + kl_y) : 0.0f;
        if (!a->grad) continue;
        for (int32_t v = 0; v < V; v += 16) {
            vf ax = NAME(load)(x + v, V - v, behind) - zx, ay = NAME(load)(y + v, V - v, behind) - zy;
            vf px = NAME(exp)(ax), py = NAME(exp)(ay), gap = ax - ay;
            vf dx = px * 0.5f - even + (px * (gap - kl_x) + px - py) * share;
            vf dy = py * 0.5f - even + (py * (-gap - kl_y) + py - px) * share;
            NAME(store)(x + v, V - v, real ? dx : SPREAD(0.0f));
            NAME(store)(y + v, V - v, real ? dy : SPREAD(0.0f));
        }
        if (!real) continue;
        x[right] -= 0.5f * (1.0f - a->smoothing);
        y[right] -= 0.5f * (1.0f - a->smoothing);
    }
}

/* One row of a head in vectors; zeros behind its end. K is a constant where speed matters. */
static INLINE TARGET void NAME(read)(vf *to, const float *p, const int32_t K) {
    for (int32_t d = 0; d < K; d += 16) to[d / 16] = NAME(load)(p + d, K - d, 0.0f);
}

static INLINE TARGET float NAME(dot)(const vf *a, const float *p, const int32_t K) {
    vf total = SPREAD(0.0f);
    for (int32_t d = 0; d < K; d += 16) total += a[d / 16] * NAME(load)(p + d, K - d, 0.0f);
    return NAME(sum)(total);
}

/* p += a * x */
static INLINE TARGET void NAME(add)(float *p, const vf *a, float x, const int32_t K) {
    for (int32_t d = 0; d < K; d += 16)
        NAME(store)(p + d, K - d, NAME(load)(p + d, K - d, 0.0f) + a[d / 16] * x);
}

static INLINE TARGET void NAME(attend_heads)(const jm_attention *a, const int32_t K) {
    const int32_t H = a->heads;
    vf q[MOST], c[MOST];
    for (int64_t first = 0, last; first < a->queries; first = last) {
        const int32_t begin = a->begin[first];
        for (last = first + 1; last < a->queries && a->begin[last] == begin;) last++;
        for (int32_t h = 0; h < H; h++) {
            const float *k = a->k + begin * a->k_stride + h * K;
            const float *v = a->v + begin * a->v_stride + h * K;
            for (int64_t t = first; t < last; t++) {
                const int32_t n = a->end[t] - begin;
                float *p = a->scratch, most = -INFINITY;
                NAME(read)(q, a->q + t * a->q_stride + h * K, K);
                for (int32_t j = 0; j < n; j++) {
                    p[j] = NAME(dot)(q, k + j * a->k_stride, K) * a->scale;
                    most = p[j] > most ? p[j] : most;
                }
                vf sums = SPREAD(0.0f);
                for (int32_t j = 0; j < n; j += 16) {
                    vf e = NAME(exp)(NAME(load)(p + j, n - j, -INFINITY) - most);
                    NAME(store)(p + j, n - j, e);
                    sums += e;
                }
                const float z = NAME(sum)(sums), share = 1.0f / z;
                for (int32_t d = 0; d < K; d += 16) c[d / 16] = SPREAD(0.0f);
                for (int32_t j = 0; j < n; j++)
                    for (int32_t d = 0; d < K; d += 16)
                        c[d / 16] += NAME(load)(v + j * a->v_stride + d, K - d, 0.0f) * p[j];
                for (int32_t d = 0; d < K; d += 16)
                    NAME(store)(a->out + (t * H + h) * K + d, K - d, c[d / 16] * share);
                a->log_sum[t * H + h] = most + logf(z);
            }
        }
    }
}

/* p: the weights, o: their result. dv = p do, ds = p (do . v - do . o), dq = ds k, dk = ds q. */
static INLINE TARGET void NAME(attend_heads_back)(const jm_attention *a, const int32_t K) {
    const int32_t H = a->heads;
    vf q[MOST], g[MOST], dq[MOST];
    for (int64_t first = 0, last; first < a->queries; first = last) {
        const int32_t begin = a->begin[first];
        for (last = first + 1; last < a->queries && a->begin[last] == begin;) last++;
        for (int32_t h = 0; h < H; h++) {
            const float *k = a->k + begin * a->k_stride + h * K;
            const float *v = a->v + begin * a->v_stride + h * K;
            float *dk = a->dk + begin * a->k_stride + h * K;
            float *dv = a->dv + begin * a->v_stride + h * K;
            for (int64_t t = first; t < last; t++) {
                const int32_t n = a->end[t] - begin;
                const int64_t row = (t * H + h) * K, at = t * a->q_stride + h * K;
                float *p = a->scratch;
                NAME(read)(q, a->q + at, K);
                NAME(read)(g, a->d_out + row, K);
                NAME(read)(dq, a->dq + at, K);
                const float mean = NAME(dot)(g, a->out + row, K), log_sum = a->log_sum[t * H + h];
                for (int32_t j = 0; j < n; j++)
                    p[j] = NAME(dot)(q, k + j * a->k_stride, K) * a->scale - log_sum;
                for (int32_t j = 0; j < n; j += 16)
                    NAME(store)(p + j, n - j, NAME(exp)(NAME(load)(p + j, n - j, -INFINITY)));
                for (int32_t j = 0; j < n; j++) {
                    const int64_t jk = j * a->k_stride, jv = j * a->v_stride;
                    const float ds = p[j] * (NAME(dot)(g, v + jv, K) - mean) * a->scale;
                    NAME(add)(dv + jv, g, p[j], K);
                    NAME(add)(dk + jk, q, ds, K);
                    for (int32_t d = 0; d < K; d += 16)
                        dq[d / 16] += NAME(load)(k + jk + d, K - d, 0.0f) * ds;
                }
                for (int32_t d = 0; d < K; d += 16)
                    NAME(store)(a->dq + at + d, K - d, dq[d / 16]);
            }
        }
    }
}

/* The usual widths of heads as constants, so that loops over a head need no test for its end. */
static TARGET void NAME(attend)(const jm_attention *a, int back) {
    if (a->head_width == 64) {
        if (back) NAME(attend_heads_back)(a, 64);
        else NAME(attend_heads)(a, 64);
    } else if (a->head_width == 32) {
        if (back) NAME(attend_heads_back)(a, 32);
        else NAME(attend_heads)(a, 32);
    } else if (back) {
        NAME(attend_heads_back)(a, a->head_width);
    } else {
        NAME(attend_heads)(a, a->head_width);
    }
}
