/* The Transformer (models/transformer.py): the encoder over all tokens of some sentences, the
 * decoder one token of each row at a time.
 *
 * Keys and values never move: those of time t of slot w stay at row t * W + w of their sentence,
 * layer and head, and each hypothesis knows the slots of its ancestors. Those of the source are one
 * per sentence, shared by its beams. So all that one head looks at stands together: sentence by
 * sentence, head by head, keys before values. A model with int8 weights keeps them as bfloat16,
 * which rounds less than its products do. Letters as in engine.h; F inner width, H heads, K width
 * of one head, S source tokens.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { GROUP = 128 };      /* about so many source tokens go through the encoder together */
enum { TABLE = 128 };      /* positions whose sines are kept with the model */
enum { FIRST_TIMES = 64 }; /* steps that the caches have room for at first */

typedef struct {
    const float *weight, *bias;
} norm;

typedef struct {
    jm_matrix qkv, out, cross_q, cross_kv, cross_out, inner, outer;
    norm attention, cross, feedforward;
} layer;

typedef struct {
    layer *encoder, *decoder;
    norm encoder_norm, decoder_norm;
    const float *source_positions, *target_positions; /* learned */
    float *frequency;                                 /* 10000^(2i / size), size / 2 of them */
    float *table;                                     /* (TABLE, size) sines and cosines in turn */
    int32_t size;                                     /* D, or K for rotary */
} transformer;

typedef struct {
    const jm_model *model;
    const transformer *parts;
    int32_t B, W, times, most; /* room of the caches in steps, and the most they may need */
    int32_t half, cell;        /* whether caches are bfloat16; numbers of a row of one head */
    int64_t *offsets;          /* B + 1 */
    char *source;              /* per layer and sentence (H, 2, S, cell) */
    char *past;                /* per layer (B, H, 2, times * W, cell) */
    float *x, *y, *normed, *context, *wide; /* (M, D) each, wide (M, max(3D, F)) */
    float *angles;                          /* (size) sines of a position past the table */
    int32_t *index;                         /* (B * W, most) rows of the ancestors in their cache */
} transformer_state;

/* ---- build ---- */

static void find_norm(jm_builder *b, const jm_config *c, norm *out, const char *side, int i,
                      int n) {
    if (c->norm == JM_NORM_NONE) return;
    jm_find_vector(b, &out->weight, 1, c->width, "%s.%d.norm%d.weight", side, i, n);
    jm_find_vector(b, &out->bias, 1, c->width, "%s.%d.norm%d.bias", side, i, n);
}

static void find_last_norm(jm_builder *b, const jm_config *c, norm *out, const char *side) {
    if (c->norm != JM_NORM_PRE) return;
    jm_find_vector(b, &out->weight, 1, c->width, "%s.norm.weight", side);
    jm_find_vector(b, &out->bias, 1, c->width, "%s.norm.bias", side);
}

static void find_layer(jm_builder *b, const jm_config *c, layer *l, const char *side, int i) {
    const int32_t D = c->width, F = c->feedforward;
    const int decodes = strcmp(side, "decoder") == 0;
    jm_find_matrix(b, &l->qkv, 3 * D, D, 1, "%s.%d.qkv", side, i);
    jm_find_matrix(b, &l->out, D, D, 1, "%s.%d.out", side, i);
    jm_find_matrix(b, &l->inner, F, D, 1, "%s.%d.inner", side, i);
    jm_find_matrix(b, &l->outer, D, F, 1, "%s.%d.outer", side, i);
    find_norm(b, c, &l->attention, side, i, 1);
    if (decodes) {
        jm_find_matrix(b, &l->cross_q, D, D, 1, "%s.%d.cross_q", side, i);
        jm_find_matrix(b, &l->cross_kv, 2 * D, D, 1, "%s.%d.cross_kv", side, i);
        jm_find_matrix(b, &l->cross_out, D, D, 1, "%s.%d.cross_out", side, i);
        find_norm(b, c, &l->cross, side, i, 2);
    }
    find_norm(b, c, &l->feedforward, side, i, decodes ? 3 : 2);
}

/* Sines and cosines of a position in turn, computed as nn/positions.py does it in float32. */
static void write_angles(const transformer *p, int32_t position, float *out) {
    for (int32_t i = 0; i < p->size / 2; i++) {
        const float angle = (float)position / p->frequency[i];
        out[2 * i] = (float)sin((double)angle);
        out[2 * i + 1] = (float)cos((double)angle);
    }
}

static void make_table(jm_builder *b, transformer *p, int32_t size) {
    p->size = size;
    p->frequency = jm_allocate((size_t)(size / 2) * sizeof(float));
    p->table = jm_allocate((size_t)TABLE * (size_t)size * sizeof(float));
    if (!p->frequency || !p->table) {
        jm_fail(b, "no memory");
        return;
    }
    for (int32_t i = 0; i < size / 2; i++)
        p->frequency[i] = (float)pow(10000.0, (double)((float)(2 * i) / (float)size));
    for (int32_t t = 0; t < TABLE; t++) write_angles(p, t, p->table + (int64_t)t * size);
}

static void check(jm_builder *b, const jm_config *c) {
    if (c->heads < 1 || c->width % c->heads) {
        jm_fail(b, "width %d is not a multiple of heads %d", c->width, c->heads);
    } else if (c->feedforward < 1 || c->feedforward > 1 << 20) {
        jm_fail(b, "feedforward = %d is not in 1 ... %d", c->feedforward, 1 << 20);
    } else if (c->norm < JM_NORM_POST || c->norm > JM_NORM_NONE) {
        jm_fail(b, "norm = %d is unknown", c->norm);
    } else if (c->positions < JM_SINUSOIDAL || c->positions > JM_NO_POSITIONS) {
        jm_fail(b, "positions = %d is unknown", c->positions);
    } else if (c->positions == JM_SINUSOIDAL && c->width % 2) {
        jm_fail(b, "sinusoidal positions need an even width, not %d", c->width);
    } else if (c->positions == JM_ROTARY && c->width / c->heads % 2) {
        jm_fail(b, "rotary positions need heads of an even width, not %d", c->width / c->heads);
    } else if (c->positions == JM_LEARNED && c->max_positions < 1) {
        jm_fail(b, "max_positions = %d", c->max_positions);
    }
}

static void build(jm_model *model, jm_builder *b) {
    const jm_config *c = &model->config;
    transformer *p = calloc(1, sizeof *p);
    model->parts = p;
    if (p) {
        p->encoder = calloc((size_t)c->encoder_layers + 1, sizeof *p->encoder);
        p->decoder = calloc((size_t)c->decoder_layers + 1, sizeof *p->decoder);
    }
    if (!p || !p->encoder || !p->decoder) {
        jm_fail(b, "no memory");
        return;
    }
    check(b, c);
    for (int i = 0; i < c->encoder_layers && !b->failed; i++)
        find_layer(b, c, &p->encoder[i], "encoder", i);
    for (int i = 0; i < c->decoder_layers && !b->failed; i++)
        find_layer(b, c, &p->decoder[i], "decoder", i);
    find_last_norm(b, c, &p->encoder_norm, "encoder");
    find_last_norm(b, c, &p->decoder_norm, "decoder");
    if (b->failed) return;
    if (c->positions == JM_LEARNED) {
        jm_find_vector(b, &p->source_positions, c->max_positions, c->width, "source_positions");
        jm_find_vector(b, &p->target_positions, c->max_positions, c->width, "target_positions");
    } else if (c->positions != JM_NO_POSITIONS) {
        make_table(b, p, c->positions == JM_ROTARY ? c->width / c->heads : c->width);
    }
}

static void destroy(jm_model *model) {
    transformer *p = model->parts;
    if (!p) return;
    free(p->encoder);
    free(p->decoder);
    jm_release(p->frequency);
    jm_release(p->table);
    free(p);
}

/* ---- parts of a layer ---- */

/* What a sub-layer reads: x, or its norm where that comes before. */
static const float *enter(transformer_state *s, const norm *n, const float *x, int32_t M) {
    if (s->model->config.norm != JM_NORM_PRE) return x;
    jm_layer_norm(s->normed, x, NULL, n->weight, n->bias, M, s->model->config.width);
    return s->normed;
}

/* x after a sub-layer that made y of it: add & norm, or without one of them. */
static void leave(transformer_state *s, const norm *n, float *x, const float *y, int32_t M) {
    const jm_config *c = &s->model->config;
    const int64_t all = (int64_t)M * c->width;
    if (c->norm == JM_NORM_POST)
        jm_layer_norm(x, y, c->residual ? x : NULL, n->weight, n->bias, M, c->width);
    else if (c->residual)
        jm_add(x, y, all);
    else
        memcpy(x, y, (size_t)all * sizeof(float));
}

static void feed_forward(transformer_state *s, const layer *l, float *x, int32_t M,
                         jm_worker *worker) {
    const int32_t D = s->model->config.width, F = s->model->config.feedforward;
    const float *in = enter(s, &l->feedforward, x, M);
    jm_apply(worker, &l->inner, in, D, M, s->wide, F, 1);
    jm_apply(worker, &l->outer, s->wide, F, M, s->y, D, 0);
    leave(s, &l->feedforward, x, s->y, M);
}

static const float *angles_at(transformer_state *s, int32_t position) {
    const transformer *p = s->parts;
    if (position < TABLE) return p->table + (int64_t)position * p->size;
    write_angles(p, position, s->angles);
    return s->angles;
}

/* Turn each pair of numbers of all heads by the angles of a position. */
static void rotate(float *x, const float *angles, int32_t D, int32_t K) {
    for (int32_t h = 0; h < D; h += K) {
        for (int32_t i = 0; i < K; i += 2) {
            const float sine = angles[i], cosine = angles[i + 1], even = x[h + i],
                        odd = x[h + i + 1];
            x[h + i] = even * cosine - odd * sine;
            x[h + i + 1] = even * sine + odd * cosine;
        }
    }
}

static float score_scale(const jm_config *c) {
    return c->scaled ? (float)(1.0 / sqrt((double)(c->width / c->heads))) : 1.0f;
}

static void attend(transformer_state *s, const float *query, int64_t ldq, int32_t Q,
                   const jm_memory *memory, float *out, jm_worker *worker) {
    const jm_config *c = &s->model->config;
    if (jm_attend(query, ldq, Q, c->heads, c->width / c->heads, score_scale(c), memory, out,
                  c->width, &worker->scratch))
        worker->failed = 1;
}

static size_t cell_bytes(const transformer_state *s) {
    return (size_t)s->cell * (s->half ? sizeof(uint16_t) : sizeof(float));
}

/* The cache of one sentence that has room for so many rows, from `start` rows into all of it. */
static jm_memory cache_of(const transformer_state *s, char *cache, int64_t start, int64_t rows) {
    const int64_t H = s->model->config.heads;
    char *keys = cache + (size_t)(start * 2 * H) * cell_bytes(s);
    return (jm_memory){.keys = keys,
                       .values = keys + (size_t)rows * cell_bytes(s),
                       .head = 2 * rows * s->cell,
                       .stride = s->cell,
                       .half = s->half};
}

/* What layer n looks at: the source of sentence i, its past. */
static jm_memory source_of(const transformer_state *s, int32_t n, int32_t i) {
    const int64_t S = s->offsets[i + 1] - s->offsets[i];
    return cache_of(s, s->source, n * s->offsets[s->B] + s->offsets[i], S);
}

static jm_memory past_of(const transformer_state *s, int32_t n, int32_t i) {
    const int64_t rows = (int64_t)s->times * s->W;
    return cache_of(s, s->past, ((int64_t)n * s->B + i) * rows, rows);
}

/* Keys and values (2D) of one token into row `row` of a cache. */
static void keep(const transformer_state *s, const jm_memory *cache, int64_t row, const float *kv) {
    const int32_t D = s->model->config.width, H = s->model->config.heads, K = D / H;
    void *const both[2] = {(void *)cache->keys, (void *)cache->values};
    for (int i = 0; i < 2; i++, kv += D) {
        if (s->half) {
            jm_halve(kv, K, H, K, (uint16_t *)both[i] + row * s->cell, cache->head);
            continue;
        }
        for (int32_t h = 0; h < H; h++)
            memcpy((float *)both[i] + h * cache->head + row * s->cell, kv + (int64_t)h * K,
                   (size_t)K * sizeof(float));
    }
}

/* ---- encoder ---- */

static void embed_source(transformer_state *s, const jm_sources *sources, int32_t first,
                         int32_t last) {
    const jm_config *c = &s->model->config;
    const int32_t D = c->width;
    const int64_t begin = sources->offsets[first];
    const int32_t M = (int32_t)(sources->offsets[last] - begin);
    jm_embed(&s->model->source_embedding, sources->ids + begin, M, c->embedding_scale, s->x);
    if (c->positions != JM_SINUSOIDAL && c->positions != JM_LEARNED) return;
    for (int32_t i = first; i < last; i++) {
        float *x = s->x + (sources->offsets[i] - begin) * D;
        const int32_t S = (int32_t)(sources->offsets[i + 1] - sources->offsets[i]);
        for (int32_t t = 0; t < S; t++)
            jm_add(x + (int64_t)t * D,
                   c->positions == JM_LEARNED ? s->parts->source_positions + (int64_t)t * D
                                              : angles_at(s, t),
                   D);
    }
}

static void rotate_group(transformer_state *s, const jm_sources *sources, int32_t first,
                         int32_t last) {
    const int32_t D = s->model->config.width, K = D / s->model->config.heads;
    float *qkv = s->wide;
    for (int32_t i = first; i < last; i++) {
        const int32_t S = (int32_t)(sources->offsets[i + 1] - sources->offsets[i]);
        for (int32_t t = 0; t < S; t++, qkv += 3 * D) {
            const float *angles = angles_at(s, t);
            rotate(qkv, angles, D, K);
            rotate(qkv + D, angles, D, K);
        }
    }
}

/* Sentences first..last through the encoder, and what each layer of the decoder will look at. */
static void encode(transformer_state *s, const jm_sources *sources, int32_t first, int32_t last,
                   jm_worker *worker) {
    const jm_config *c = &s->model->config;
    const transformer *p = s->parts;
    const int32_t D = c->width;
    const int64_t begin = sources->offsets[first];
    const int32_t M = (int32_t)(sources->offsets[last] - begin);
    embed_source(s, sources, first, last);
    for (int32_t n = 0; n < c->encoder_layers; n++) {
        const layer *l = &p->encoder[n];
        jm_apply(worker, &l->qkv, enter(s, &l->attention, s->x, M), D, M, s->wide, 3 * D, 0);
        if (c->positions == JM_ROTARY) rotate_group(s, sources, first, last);
        for (int32_t i = first; i < last; i++) {
            const int64_t from = sources->offsets[i] - begin;
            const int32_t S = (int32_t)(sources->offsets[i + 1] - sources->offsets[i]);
            const float *qkv = s->wide + from * 3 * D;
            const jm_memory all = {qkv + D, qkv + 2 * D, D / c->heads, 3 * D, NULL, S, 0};
            attend(s, qkv, 3 * D, S, &all, s->context + from * D, worker);
        }
        jm_apply(worker, &l->out, s->context, D, M, s->y, D, 0);
        leave(s, &l->attention, s->x, s->y, M);
        feed_forward(s, l, s->x, M, worker);
    }
    if (c->norm == JM_NORM_PRE)
        jm_layer_norm(s->x, s->x, NULL, p->encoder_norm.weight, p->encoder_norm.bias, M, D);
    for (int32_t n = 0; n < c->decoder_layers; n++) {
        jm_apply(worker, &p->decoder[n].cross_kv, s->x, D, M, s->wide, 2 * D, 0);
        const float *kv = s->wide;
        for (int32_t i = first; i < last; i++) {
            const int64_t S = sources->offsets[i + 1] - sources->offsets[i];
            const jm_memory cache = source_of(s, n, i);
            for (int64_t t = 0; t < S; t++, kv += 2 * D) keep(s, &cache, t, kv);
        }
    }
}

/* ---- state ---- */

static void end(void *state) {
    transformer_state *s = state;
    if (!s) return;
    jm_release(s->source);
    jm_release(s->past);
    jm_release(s->offsets);
    jm_release(s->x);
    jm_release(s->angles);
    jm_release(s->index);
    free(s);
}

/* The last sentence of the group that begins with `first`. */
static int32_t group_end(const jm_sources *sources, int32_t first) {
    int32_t last = first + 1;
    while (last < sources->count && sources->offsets[last + 1] - sources->offsets[first] <= GROUP)
        last++;
    return last;
}

static int reserve(transformer_state *s, const jm_sources *sources) {
    const jm_config *c = &s->model->config;
    const size_t D = (size_t)c->width, F = (size_t)c->feedforward,
                 rows = (size_t)s->B * (size_t)s->W;
    const size_t tokens = (size_t)sources->offsets[s->B];
    const size_t pair = 2 * (size_t)c->heads * cell_bytes(s) * (size_t)c->decoder_layers;
    size_t M = rows;
    for (int32_t first = 0, last; first < s->B; first = last) {
        last = group_end(sources, first);
        const size_t group = (size_t)(sources->offsets[last] - sources->offsets[first]);
        if (group > M) M = group;
    }
    for (int32_t i = 0; i < s->B; i++)
        if (sources->limits[i] > s->most) s->most = sources->limits[i];
    if ((size_t)s->W * (size_t)s->most > INT32_MAX) return -1; /* rows of a cache are int32_t */
    s->times = s->most < FIRST_TIMES ? s->most : FIRST_TIMES;
    s->source = jm_allocate(tokens * pair);
    s->past = jm_allocate((size_t)s->times * rows * pair);
    s->offsets = jm_allocate(((size_t)s->B + 1) * sizeof *s->offsets);
    s->x = jm_allocate(M * (4 * D + (3 * D > F ? 3 * D : F)) * sizeof(float));
    s->angles = jm_allocate((D + 1) * sizeof(float));
    s->index = jm_allocate(rows * (size_t)s->most * sizeof *s->index);
    if (!s->source || !s->past || !s->offsets || !s->x || !s->angles || !s->index) return -1;
    s->y = s->x + M * D;
    s->normed = s->y + M * D;
    s->context = s->normed + M * D;
    s->wide = s->context + M * D;
    memcpy(s->offsets, sources->offsets, ((size_t)s->B + 1) * sizeof *s->offsets);
    return 0;
}

static int begin(const jm_model *model, const jm_sources *sources, int32_t width, jm_worker *worker,
                 void **state, int32_t *bad) {
    if (model->config.positions == JM_LEARNED) {
        for (int32_t i = 0; i < sources->count; i++) {
            if (sources->offsets[i + 1] - sources->offsets[i] > model->config.max_positions) {
                *bad = i;
                return JM_PAST_TABLE;
            }
        }
    }
    transformer_state *s = calloc(1, sizeof *s);
    if (!s) return JM_NO_MEMORY;
    s->model = model;
    s->parts = model->parts;
    s->B = sources->count;
    s->W = width;
    s->half = model->config.decoder_layers > 0 && s->parts->decoder[0].qkv.type == JM_I8;
    s->cell = model->config.width / model->config.heads;
    if (s->half) s->cell = jm_half_size(s->cell);
    if (reserve(s, sources)) {
        end(s);
        return JM_NO_MEMORY;
    }
    for (int32_t first = 0, last; first < s->B; first = last) {
        last = group_end(sources, first);
        encode(s, sources, first, last, worker);
    }
    *state = s;
    return JM_OK;
}

/* ---- one step ---- */

/* Room for time `time` in every cache: twice as much as before. */
static int grow(transformer_state *s, int32_t time) {
    if (time < s->times) return 0;
    const int32_t times = s->most / 2 < s->times ? s->most : 2 * s->times;
    if (time >= times) return -1;
    const size_t step = (size_t)s->W * cell_bytes(s);
    const jm_config *c = &s->model->config;
    const size_t parts = (size_t)c->decoder_layers * (size_t)s->B * (size_t)c->heads * 2;
    char *more = jm_allocate(parts * (size_t)times * step);
    if (!more) return -1;
    for (size_t i = 0; i < parts; i++)
        memcpy(more + i * (size_t)times * step, s->past + i * (size_t)s->times * step,
               (size_t)time * step);
    jm_release(s->past);
    s->past = more;
    s->times = times;
    return 0;
}

/* Where the keys and values of each row's ancestors stand, (R, time + 1). */
static void write_index(transformer_state *s, const jm_rows *rows) {
    for (int32_t r = 0; r < rows->count; r++) {
        const int32_t *ancestor = rows->ancestor + r * rows->stride;
        int32_t *index = s->index + (int64_t)r * s->most;
        for (int32_t t = 0; t <= rows->time; t++) index[t] = t * s->W + ancestor[t];
    }
}

/* Each row looks at its own past; qkv of this step is in s->wide. */
static void attend_past(transformer_state *s, const jm_rows *rows, int32_t n, jm_worker *worker) {
    const int32_t D = s->model->config.width, t = rows->time;
    for (int32_t r = 0; r < rows->count; r++) {
        const jm_memory cache = past_of(s, n, rows->sentence[r]);
        keep(s, &cache, (int64_t)t * s->W + rows->slot[r], s->wide + (int64_t)r * 3 * D + D);
    }
    for (int32_t r = 0; r < rows->count; r++) {
        jm_memory cache = past_of(s, n, rows->sentence[r]);
        cache.n = t + 1;
        if (s->W > 1) cache.index = s->index + (int64_t)r * s->most;
        attend(s, s->wide + (int64_t)r * 3 * D, 3 * D, 1, &cache, s->context + (int64_t)r * D,
               worker);
    }
}

/* Each row looks at its source; the rows of one sentence together. Queries are in s->wide (R, D).
 */
static void attend_source(transformer_state *s, const jm_rows *rows, int32_t n,
                          jm_worker *worker) {
    const jm_config *c = &s->model->config;
    const int32_t D = c->width;
    for (int32_t r = 0, next; r < rows->count; r = next) {
        const int32_t i = rows->sentence[r];
        for (next = r + 1; next < rows->count && rows->sentence[next] == i;) next++;
        jm_memory cache = source_of(s, n, i);
        cache.n = (int32_t)(s->offsets[i + 1] - s->offsets[i]);
        attend(s, s->wide + (int64_t)r * D, D, next - r, &cache, s->context + (int64_t)r * D,
               worker);
        if (rows->look && rows->look->layer == n &&
            jm_look_at(rows->look, r, s->wide + (int64_t)r * D, D, next - r, c->heads, D / c->heads,
                       score_scale(c), &cache, &worker->scratch))
            worker->failed = 1;
    }
}

static void embed_target(transformer_state *s, const jm_rows *rows, float *x) {
    const jm_config *c = &s->model->config;
    const float *add = NULL;
    jm_embed(&s->model->target_embedding, rows->token, rows->count, c->embedding_scale, x);
    if (c->positions == JM_SINUSOIDAL) add = angles_at(s, rows->time);
    if (c->positions == JM_LEARNED)
        add = s->parts->target_positions + (int64_t)rows->time * c->width;
    for (int32_t r = 0; add && r < rows->count; r++)
        jm_add(x + (int64_t)r * c->width, add, c->width);
}

static void rotate_rows(transformer_state *s, const jm_rows *rows) {
    const int32_t D = s->model->config.width, K = D / s->model->config.heads;
    const float *angles = angles_at(s, rows->time);
    for (int32_t r = 0; r < rows->count; r++) {
        rotate(s->wide + (int64_t)r * 3 * D, angles, D, K);
        rotate(s->wide + (int64_t)r * 3 * D + D, angles, D, K);
    }
}

static int step(void *state, const jm_rows *rows, float *features, jm_worker *worker) {
    transformer_state *s = state;
    const jm_config *c = &s->model->config;
    const int32_t D = c->width, R = rows->count;
    float *x = features;
    if (c->positions == JM_LEARNED && rows->time >= c->max_positions) return JM_PAST_TABLE;
    if (grow(s, rows->time)) return JM_NO_MEMORY;
    embed_target(s, rows, x);
    if (s->W > 1) write_index(s, rows);
    for (int32_t n = 0; n < c->decoder_layers; n++) {
        const layer *l = &s->parts->decoder[n];
        jm_apply(worker, &l->qkv, enter(s, &l->attention, x, R), D, R, s->wide, 3 * D, 0);
        if (c->positions == JM_ROTARY) rotate_rows(s, rows);
        attend_past(s, rows, n, worker);
        jm_apply(worker, &l->out, s->context, D, R, s->y, D, 0);
        leave(s, &l->attention, x, s->y, R);

        jm_apply(worker, &l->cross_q, enter(s, &l->cross, x, R), D, R, s->wide, D, 0);
        attend_source(s, rows, n, worker);
        jm_apply(worker, &l->cross_out, s->context, D, R, s->y, D, 0);
        leave(s, &l->cross, x, s->y, R);

        feed_forward(s, l, x, R, worker);
    }
    const norm *last = &s->parts->decoder_norm;
    if (c->norm == JM_NORM_PRE) jm_layer_norm(x, x, NULL, last->weight, last->bias, R, D);
    return JM_OK;
}

const jm_arch jm_transformer = {build, destroy, begin, step, end};
