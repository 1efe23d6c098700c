/* The Transformer (models/transformer.py): the encoder over all tokens of some sentences, the
 * decoder one token of each row at a time.
 *
 * Keys and values never move: those of time t of slot w stay at row t * W + w of their sentence,
 * layer and head, and each hypothesis knows the slots of its ancestors. Those of the source are one
 * per sentence, shared by its beams. So all that one head looks at stands together: sentence by
 * sentence, head by head, keys before values. A model with int8 weights keeps them as bfloat16,
 * which rounds less than its products do. Letters as in engine.h; F inner width, H heads, K width
 * of one head, A = H K, S source tokens.
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
    jm_matrix qkv, out, cross_q, cross_kv, cross_out, inner, gate, outer;
    norm attention, cross, feedforward;
} layer;

typedef struct {
    layer *encoder, *decoder;
    norm encoder_norm, decoder_norm;
    norm source_norm, target_norm;                    /* of embeddings */
    const float *source_positions, *target_positions; /* learned */
    const float *encoder_bias, *decoder_bias;         /* (buckets, H), of relative positions */
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
    float *x, *y, *normed, *context, *wide; /* (M, D) each, context (M, A), wide (M, widest) */
    float *near_source, *near_past; /* (H, near_size), what relative positions add by distance */
    int64_t longest;                /* of the sources */
    float *angles;                          /* (size) sines of a position past the table */
    int32_t *index;                         /* (B * W, most) rows of the ancestors in their cache */
    const jm_sources *told; /* where weights are recorded that attention makes, else NULL */
    const jm_sources *seen; /* where attention goes the way of record.c, else NULL */
    float *bias;            /* seen: what relative positions add to the scores of some queries */
} transformer_state;

/* ---- build ---- */

static void find_norm(jm_builder *b, const jm_config *c, norm *out, const char *side, int i,
                      int n) {
    if (c->norm == JM_NORM_NONE) return;
    jm_find_vector(b, &out->weight, 1, c->width, "%s.%d.norm%d.weight", side, i, n);
    if (!c->rms_norm) jm_find_vector(b, &out->bias, 1, c->width, "%s.%d.norm%d.bias", side, i, n);
}

/* A norm that is no layer's, where there is one. */
static void find_one_norm(jm_builder *b, const jm_config *c, norm *out, const char *name, int is) {
    if (!is) return;
    jm_find_vector(b, &out->weight, 1, c->width, "%s.weight", name);
    if (!c->rms_norm) jm_find_vector(b, &out->bias, 1, c->width, "%s.bias", name);
}

static void find_layer(jm_builder *b, const jm_config *c, layer *l, const char *side, int i) {
    const int32_t D = c->width, F = c->feedforward, A = c->heads * c->head_width;
    const int decodes = strcmp(side, "decoder") == 0;
    jm_find_matrix(b, &l->qkv, 3 * A, D, 1, "%s.%d.qkv", side, i);
    jm_find_matrix(b, &l->out, D, A, 1, "%s.%d.out", side, i);
    jm_find_matrix(b, &l->inner, F, D, 1, "%s.%d.inner", side, i);
    if (c->gated) jm_find_matrix(b, &l->gate, F, D, 1, "%s.%d.gate", side, i);
    jm_find_matrix(b, &l->outer, D, F, 1, "%s.%d.outer", side, i);
    find_norm(b, c, &l->attention, side, i, 1);
    if (decodes) {
        jm_find_matrix(b, &l->cross_q, A, D, 1, "%s.%d.cross_q", side, i);
        jm_find_matrix(b, &l->cross_kv, 2 * A, D, 1, "%s.%d.cross_kv", side, i);
        jm_find_matrix(b, &l->cross_out, D, A, 1, "%s.%d.cross_out", side, i);
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

static void check_attention(jm_builder *b, const jm_config *c) {
    if (c->heads < 1 || c->heads > 1 << 16) {
        jm_fail(b, "heads = %d is not in 1 ... %d", c->heads, 1 << 16);
    } else if (c->head_width < 1 || c->head_width > (1 << 20) / c->heads) {
        jm_fail(b, "head_width = %d of %d heads", c->head_width, c->heads);
    } else if (c->positions == JM_ROTARY && c->head_width % 2) {
        jm_fail(b, "rotary positions need heads of an even width, not %d", c->head_width);
    } else if (c->positions == JM_RELATIVE && (c->buckets < 4 || c->buckets > 1 << 20)) {
        jm_fail(b, "buckets = %d is not in 4 ... %d", c->buckets, 1 << 20);
    } else if (c->positions == JM_RELATIVE && c->max_distance <= c->buckets / 2) {
        jm_fail(b, "max_distance = %d is not above half of the %d buckets", c->max_distance,
                c->buckets);
    }
}

static void check(jm_builder *b, const jm_config *c) {
    check_attention(b, c);
    if (c->activation < JM_RELU || c->activation > JM_SILU) {
        jm_fail(b, "activation = %d is unknown", c->activation);
    } else if (!(c->norm_epsilon >= 0) || !isfinite(c->norm_epsilon)) {
        jm_fail(b, "norm_epsilon = %g", (double)c->norm_epsilon);
    } else if (c->feedforward < 1 || c->feedforward > 1 << 20) {
        jm_fail(b, "feedforward = %d is not in 1 ... %d", c->feedforward, 1 << 20);
    } else if (c->norm < JM_NORM_POST || c->norm > JM_NORM_NONE) {
        jm_fail(b, "norm = %d is unknown", c->norm);
    } else if (c->positions < JM_SINUSOIDAL || c->positions > JM_RELATIVE) {
        jm_fail(b, "positions = %d is unknown", c->positions);
    } else if (c->positions == JM_SINUSOIDAL && c->width % 2) {
        jm_fail(b, "sinusoidal positions need an even width, not %d", c->width);
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
    if (b->failed) return;
    for (int i = 0; i < c->encoder_layers && !b->failed; i++)
        find_layer(b, c, &p->encoder[i], "encoder", i);
    for (int i = 0; i < c->decoder_layers && !b->failed; i++)
        find_layer(b, c, &p->decoder[i], "decoder", i);
    find_one_norm(b, c, &p->encoder_norm, "encoder.norm", c->norm == JM_NORM_PRE);
    find_one_norm(b, c, &p->decoder_norm, "decoder.norm", c->norm == JM_NORM_PRE);
    find_one_norm(b, c, &p->source_norm, "source_norm", c->embedding_norm);
    find_one_norm(b, c, &p->target_norm, "target_norm", c->embedding_norm);
    if (b->failed) return;
    if (c->positions == JM_LEARNED) {
        jm_find_vector(b, &p->source_positions, c->max_positions, c->width, "source_positions");
        jm_find_vector(b, &p->target_positions, c->max_positions, c->width, "target_positions");
    } else if (c->positions == JM_RELATIVE) {
        jm_find_vector(b, &p->encoder_bias, c->buckets, c->heads, "encoder_bias");
        jm_find_vector(b, &p->decoder_bias, c->buckets, c->heads, "decoder_bias");
    } else if (c->positions != JM_NO_POSITIONS) {
        make_table(b, p, c->positions == JM_ROTARY ? c->head_width : c->width);
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

static void apply_norm(const transformer_state *s, const norm *n, float *y, const float *x,
                       const float *add, int32_t M) {
    const jm_config *c = &s->model->config;
    jm_norm(y, x, add, n->weight, n->bias, c->norm_epsilon, M, c->width);
}

/* What a sub-layer reads: x, or its norm where that comes before. */
static const float *enter(transformer_state *s, const norm *n, const float *x, int32_t M) {
    if (s->model->config.norm != JM_NORM_PRE) return x;
    apply_norm(s, n, s->normed, x, NULL, M);
    return s->normed;
}

/* x after a sub-layer that made y of it: add & norm, or without one of them. */
static void leave(transformer_state *s, const norm *n, float *x, const float *y, int32_t M) {
    const jm_config *c = &s->model->config;
    const int64_t all = (int64_t)M * c->width;
    if (c->norm == JM_NORM_POST)
        apply_norm(s, n, x, y, c->residual ? x : NULL, M);
    else if (c->residual)
        jm_add(x, y, all);
    else
        memcpy(x, y, (size_t)all * sizeof(float));
}

static void feed_forward(transformer_state *s, const layer *l, float *x, int32_t M,
                         jm_worker *worker) {
    const jm_config *c = &s->model->config;
    const int32_t D = c->width, F = c->feedforward;
    const int64_t ldw = c->gated ? 2 * (int64_t)F : F;
    const float *in = enter(s, &l->feedforward, x, M);
    float *gate = c->gated ? s->wide + F : NULL;
    const int at_once = c->activation == JM_RELU && !gate; /* by the product itself */
    jm_apply(worker, &l->inner, in, D, M, s->wide, ldw, at_once);
    if (gate) jm_apply(worker, &l->gate, in, D, M, gate, ldw, 0);
    if (!at_once) jm_activate(c->activation, s->wide, ldw, gate, ldw, M, F);
    jm_apply(worker, &l->outer, s->wide, ldw, M, s->y, D, 0);
    leave(s, &l->feedforward, x, s->y, M);
}

static const float *angles_at(transformer_state *s, int32_t position) {
    const transformer *p = s->parts;
    if (position < TABLE) return p->table + (int64_t)position * p->size;
    write_angles(p, position, s->angles);
    return s->angles;
}

/* The bucket of the distance from a query to a key (T5): one for each of the near ones, then wider
 * and wider, one for all from max_distance on. `both`: half of them for keys that come later; else
 * later keys count as the query's own place. */
static int32_t bucket_of(const jm_config *c, int64_t distance, int both) {
    const int32_t count = both ? c->buckets / 2 : c->buckets, exact = count / 2;
    const int32_t first = both && distance > 0 ? count : 0;
    const int64_t far = distance < 0 ? -distance : both ? distance : 0;
    if (far < exact) return first + (int32_t)far;
    if (far >= c->max_distance) return first + count - 1;
    const float share = logf((float)far / (float)exact) /
                        (float)log((double)c->max_distance / (double)exact);
    const int32_t wider = exact + (int32_t)(share * (float)(count - exact));
    return first + (wider < count ? wider : count - 1);
}

/* What is added to the scores of each head by distance, from `low` to `high`, and zeros behind it:
 * (H, near_size). So the numbers of one query stand side by side. */
static int64_t near_size(int64_t low, int64_t high) { return high - low + 1 + 15; }

static void write_near(const jm_config *c, const float *table, int64_t low, int64_t high, int both,
                       float *out) {
    const int64_t size = near_size(low, high);
    memset(out, 0, (size_t)(size * c->heads) * sizeof *out);
    for (int64_t d = low; d <= high; d++) {
        const float *row = table + (int64_t)bucket_of(c, d, both) * c->heads;
        for (int32_t h = 0; h < c->heads; h++) out[h * size + d - low] = row[h];
    }
}

/* Turn each pair of numbers of all heads by the angles of a position. */
static void rotate(float *x, const float *angles, int32_t A, int32_t K) {
    for (int32_t h = 0; h < A; h += K) {
        for (int32_t i = 0; i < K; i += 2) {
            const float sine = angles[i], cosine = angles[i + 1], even = x[h + i],
                        odd = x[h + i + 1];
            x[h + i] = even * cosine - odd * sine;
            x[h + i + 1] = even * sine + odd * cosine;
        }
    }
}

static void attend(transformer_state *s, const float *query, int64_t ldq, int32_t Q,
                   const jm_memory *memory, float *out, jm_worker *worker) {
    const jm_config *c = &s->model->config;
    if (jm_attend(query, ldq, Q, c->heads, c->head_width, jm_score_scale(c), memory, out,
                  (int64_t)c->heads * c->head_width, &worker->scratch))
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

/* Keys and values (2A) of one token into row `row` of a cache. */
static void keep(const transformer_state *s, const jm_memory *cache, int64_t row, float *kv) {
    const int32_t H = s->model->config.heads, K = s->model->config.head_width;
    void *const both[2] = {(void *)cache->keys, (void *)cache->values};
    if (s->seen && s->parts->decoder[0].qkv.type == JM_I8) jm_round_half(kv, 2 * (int64_t)H * K);
    for (int i = 0; i < 2; i++, kv += H * K) {
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
    const int placed = c->positions == JM_SINUSOIDAL || c->positions == JM_LEARNED;
    int32_t at;
    jm_embed(&s->model->source_embedding, sources->ids + begin, M, c->embedding_scale, s->x);
    for (int32_t i = first; i < last && placed; i++) {
        float *x = s->x + (sources->offsets[i] - begin) * D;
        const int32_t S = (int32_t)(sources->offsets[i + 1] - sources->offsets[i]);
        for (int32_t t = 0; t < S && (at = jm_source_position(sources, i, t)) >= 0; t++)
            jm_add(x + (int64_t)t * D,
                   c->positions == JM_LEARNED ? s->parts->source_positions + (int64_t)at * D
                                              : angles_at(s, at),
                   D);
    }
    if (c->embedding_norm) apply_norm(s, &s->parts->source_norm, s->x, s->x, NULL, M);
}

static void rotate_group(transformer_state *s, const jm_sources *sources, int32_t first,
                         int32_t last) {
    const int32_t K = s->model->config.head_width, A = s->model->config.heads * K;
    float *qkv = s->wide;
    for (int32_t i = first; i < last; i++) {
        const int32_t S = (int32_t)(sources->offsets[i + 1] - sources->offsets[i]);
        for (int32_t t = 0; t < S; t++, qkv += 3 * A) {
            const int32_t at = jm_source_position(sources, i, t);
            if (at < 0) continue;
            const float *angles = angles_at(s, at);
            rotate(qkv, angles, A, K);
            rotate(qkv + A, angles, A, K);
        }
    }
}

/* ---- where stages are kept, or changed ---- */

static void see(transformer_state *s, jm_seen *a, jm_worker *worker) {
    a->model = s->model;
    a->sources = s->seen;
    a->scale = jm_score_scale(&s->model->config);
    a->ldo = (int64_t)s->model->config.heads * s->model->config.head_width;
    const int code = jm_attend_seen(a, &worker->scratch);
    if (code == JM_NO_MEMORY) worker->failed = 1;
    if (code == JM_NO_KEY && !worker->blind) worker->blind = a->sentence + 1;
}

/* What relative positions add to the scores of a query at position `from` over K keys, as row q of Q:
 * (H, Q, K) in s->bias. Positions of keys: of the source, or of times. */
static void write_bias(transformer_state *s, const float *table, int32_t sentence, int source,
                       int32_t from, int32_t q, int32_t Q, int32_t K) {
    const jm_config *c = &s->model->config;
    for (int32_t t = 0; t < K; t++) {
        const int32_t to = source ? jm_source_position(s->seen, sentence, t)
                                  : jm_target_position(s->seen->probe, t);
        const float *row = table + (int64_t)bucket_of(c, (int64_t)to - from, source) * c->heads;
        for (int32_t h = 0; h < c->heads; h++) s->bias[((int64_t)h * Q + q) * K + t] = row[h];
    }
}

/* Every token of sentence i looks at its own sentence. */
static void see_own(transformer_state *s, int32_t n, int32_t i, const float *qkv, const jm_memory *all,
                    float *context, jm_worker *worker) {
    const int32_t S = all->n;
    jm_seen a = {.sentence = i, .slot = -1, .kind = JM_ENC_SELF, .layer = n, .Q = S, .query = qkv,
                 .ldq = all->stride, .memory = *all, .out = context};
    if (s->bias && jm_source_position(s->seen, i, 0) >= 0) {
        for (int32_t t = 0; t < S; t++)
            write_bias(s, s->parts->encoder_bias, i, 1, jm_source_position(s->seen, i, t), t, S, S);
        a.bias = s->bias;
        a.ldb = S;
    }
    see(s, &a, worker);
}

/* One row looks at its own past. */
static void see_past(transformer_state *s, const jm_rows *rows, int32_t n, int32_t r,
                     const float *query, const jm_memory *cache, float *context, jm_worker *worker) {
    const int32_t i = rows->sentence[r], at = jm_target_position(s->seen->probe, rows->time);
    jm_seen a = {.sentence = i, .slot = rows->slot[r], .kind = JM_DEC_SELF, .layer = n,
                 .first = rows->time, .Q = 1, .query = query, .memory = *cache, .out = context};
    if (s->bias && at >= 0) {
        a.ldb = s->seen->probe->recording ? s->seen->limits[i] : cache->n;
        write_bias(s, s->parts->decoder_bias, i, 0, at, 0, 1, (int32_t)a.ldb);
        a.bias = s->bias;
    }
    see(s, &a, worker);
}

/* One row looks at its source. */
static void see_source(transformer_state *s, const jm_rows *rows, int32_t n, int32_t r,
                       const float *query, const jm_memory *cache, float *context,
                       jm_worker *worker) {
    jm_seen a = {.sentence = rows->sentence[r], .slot = rows->slot[r], .kind = JM_CROSS,
                 .layer = n, .first = rows->time, .Q = 1, .query = query, .memory = *cache, .look = rows->look, .row = r,
                 .out = context};
    see(s, &a, worker);
}

/* What the rows of a step got from an attention, y (R, D). */
static void record_step(const transformer_state *s, const jm_rows *rows, int32_t kind, int32_t n) {
    for (int32_t r = 0; r < rows->count && s->seen && s->seen->probe->recording; r++)
        jm_record_rows(s->model, s->seen, rows->sentence[r], rows->slot[r], JM_OUT, kind, n,
                       rows->time, 1, s->y + (int64_t)r * s->model->config.width);
}

static void record_own(const transformer_state *s, const jm_sources *sources, int32_t first,
                       int32_t last, int32_t n) {
    for (int32_t i = first; i < last && s->seen && s->seen->probe->recording; i++)
        jm_record_rows(s->model, sources, i, -1, JM_OUT, JM_ENC_SELF, n, 0,
                       (int32_t)(sources->offsets[i + 1] - sources->offsets[i]),
                       s->y + (sources->offsets[i] - sources->offsets[first]) *
                                  (int64_t)s->model->config.width);
}

/* Every token of sentences first..last looks at its own sentence; qkv of all is in s->wide. */
static void attend_own(transformer_state *s, const jm_sources *sources, int32_t first, int32_t last,
                       int32_t n, jm_worker *worker) {
    const jm_config *c = &s->model->config;
    const int32_t A = c->heads * c->head_width;
    for (int32_t i = first; i < last; i++) {
        const int64_t from = sources->offsets[i] - sources->offsets[first];
        const int32_t S = (int32_t)(sources->offsets[i + 1] - sources->offsets[i]);
        const float *qkv = s->wide + from * 3 * A;
        jm_memory all = {.keys = qkv + A,
                         .values = qkv + 2 * A,
                         .head = c->head_width,
                         .stride = 3 * A,
                         .n = S};
        if (s->seen) {
            see_own(s, n, i, qkv, &all, s->context + from * A, worker);
            continue;
        }
        if (s->near_source) {
            all.near = s->near_source + s->longest - 1;
            all.near_head = near_size(1 - s->longest, s->longest - 1);
        }
        if (s->told) jm_record_weights(s->model, s->told, i, -1, JM_ENC_SELF, n, 0, &all);
        attend(s, qkv, 3 * A, S, &all, s->context + from * A, worker);
    }
}

/* Sentences first..last through the encoder, and what each layer of the decoder will look at. */
static void encode(transformer_state *s, const jm_sources *sources, int32_t first, int32_t last,
                   jm_worker *worker) {
    const jm_config *c = &s->model->config;
    const transformer *p = s->parts;
    const int32_t D = c->width, A = c->heads * c->head_width;
    const int32_t M = (int32_t)(sources->offsets[last] - sources->offsets[first]);
    embed_source(s, sources, first, last);
    for (int32_t n = 0; n < c->encoder_layers; n++) {
        const layer *l = &p->encoder[n];
        jm_apply(worker, &l->qkv, enter(s, &l->attention, s->x, M), D, M, s->wide, 3 * A, 0);
        if (c->positions == JM_ROTARY) rotate_group(s, sources, first, last);
        attend_own(s, sources, first, last, n, worker);
        jm_apply(worker, &l->out, s->context, A, M, s->y, D, 0);
        record_own(s, sources, first, last, n);
        leave(s, &l->attention, s->x, s->y, M);
        feed_forward(s, l, s->x, M, worker);
    }
    if (c->norm == JM_NORM_PRE) apply_norm(s, &p->encoder_norm, s->x, s->x, NULL, M);
    for (int32_t n = 0; n < c->decoder_layers; n++) {
        jm_apply(worker, &p->decoder[n].cross_kv, s->x, D, M, s->wide, 2 * A, 0);
        float *kv = s->wide;
        for (int32_t i = first; i < last; i++) {
            const int64_t S = sources->offsets[i + 1] - sources->offsets[i];
            const jm_memory cache = source_of(s, n, i);
            for (int64_t t = 0; t < S; t++, kv += 2 * A) keep(s, &cache, t, kv);
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
    jm_release(s->bias);
    jm_release(s->near_source);
    jm_release(s->near_past);
    free(s);
}

/* The last sentence of the group that begins with `first`. */
static int32_t group_end(const jm_sources *sources, int32_t first) {
    int32_t last = first + 1;
    while (last < sources->count && sources->offsets[last + 1] - sources->offsets[first] <= GROUP)
        last++;
    return last;
}

/* What relative positions add to the scores of the past, as far as its caches have room. */
static int reserve_near_past(transformer_state *s) {
    const jm_config *c = &s->model->config;
    if (c->positions != JM_RELATIVE) return 0;
    const int64_t low = 1 - (int64_t)s->times;
    jm_release(s->near_past);
    s->near_past = jm_allocate((size_t)(near_size(low, 0) * c->heads) * sizeof(float));
    if (!s->near_past) return -1;
    write_near(c, s->parts->decoder_bias, low, 0, 0, s->near_past);
    return 0;
}

/* The same for sources, whose tokens look both ways. */
static int reserve_near_source(transformer_state *s, const jm_sources *sources) {
    const jm_config *c = &s->model->config;
    if (c->positions != JM_RELATIVE) return 0;
    for (int32_t i = 0; i < s->B; i++) {
        const int64_t S = sources->offsets[i + 1] - sources->offsets[i];
        if (S > s->longest) s->longest = S;
    }
    const int64_t low = 1 - s->longest, high = s->longest - 1;
    s->near_source = jm_allocate((size_t)(near_size(low, high) * c->heads) * sizeof(float));
    if (!s->near_source) return -1;
    write_near(c, s->parts->encoder_bias, low, high, 1, s->near_source);
    return 0;
}

/* For all queries of a source, or one of a target. */
static int reserve_bias(transformer_state *s) {
    const jm_config *c = &s->model->config;
    if (c->positions != JM_RELATIVE || !s->seen) return 0;
    const int64_t most = s->longest * s->longest > s->most ? s->longest * s->longest : s->most;
    s->bias = jm_allocate((size_t)(most * c->heads) * sizeof(float));
    return s->bias ? 0 : -1;
}

/* Whether a sentence has a position that no row was learned for. */
static int is_past_table(const jm_config *c, const jm_sources *sources, int32_t i) {
    const int64_t S = sources->offsets[i + 1] - sources->offsets[i];
    if (c->positions != JM_LEARNED) return 0;
    if (!sources->probe) return S > c->max_positions;
    for (int32_t t = 0; t < S; t++)
        if (jm_source_position(sources, i, t) >= c->max_positions) return 1;
    return 0;
}

static int reserve(transformer_state *s, const jm_sources *sources) {
    const jm_config *c = &s->model->config;
    const size_t D = (size_t)c->width, F = (size_t)c->feedforward * (c->gated ? 2 : 1),
                 A = (size_t)c->heads * (size_t)c->head_width, rows = (size_t)s->B * (size_t)s->W;
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
    s->x = jm_allocate(M * (3 * D + A + (3 * A > F ? 3 * A : F)) * sizeof(float));
    s->angles = jm_allocate((size_t)(s->parts->size + 1) * sizeof(float));
    s->index = jm_allocate(rows * (size_t)s->most * sizeof *s->index);
    if (!s->source || !s->past || !s->offsets || !s->x || !s->angles || !s->index) return -1;
    if (reserve_near_source(s, sources) || reserve_near_past(s) || reserve_bias(s)) return -1;
    s->y = s->x + M * D;
    s->normed = s->y + M * D;
    s->context = s->normed + M * D;
    s->wide = s->context + M * A;
    memcpy(s->offsets, sources->offsets, ((size_t)s->B + 1) * sizeof *s->offsets);
    return 0;
}

static int begin(const jm_model *model, const jm_sources *sources, int32_t width, jm_worker *worker,
                 void **state, int32_t *bad) {
    for (int32_t i = 0; i < sources->count; i++) {
        if (is_past_table(&model->config, sources, i)) {
            *bad = i;
            return JM_PAST_TABLE;
        }
    }
    transformer_state *s = calloc(1, sizeof *s);
    if (!s) return JM_NO_MEMORY;
    s->model = model;
    s->parts = model->parts;
    s->B = sources->count;
    s->W = width;
    s->seen = sources->probe && jm_is_explicit(sources->probe) ? sources : NULL;
    s->told = sources->probe && !s->seen ? sources : NULL;
    s->half = !s->seen && model->config.decoder_layers > 0 &&
              s->parts->decoder[0].qkv.type == JM_I8; /* seen: rounded alike, but floats */
    s->cell = model->config.head_width;
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
    return reserve_near_past(s);
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
    const int32_t A = s->model->config.heads * s->model->config.head_width, t = rows->time;
    for (int32_t r = 0; r < rows->count; r++) {
        const jm_memory cache = past_of(s, n, rows->sentence[r]);
        keep(s, &cache, (int64_t)t * s->W + rows->slot[r], s->wide + (int64_t)r * 3 * A + A);
    }
    for (int32_t r = 0; r < rows->count; r++) {
        jm_memory cache = past_of(s, n, rows->sentence[r]);
        cache.n = t + 1;
        if (s->W > 1) cache.index = s->index + (int64_t)r * s->most;
        if (s->seen) {
            see_past(s, rows, n, r, s->wide + (int64_t)r * 3 * A, &cache,
                     s->context + (int64_t)r * A, worker);
            continue;
        }
        if (s->near_past) {
            cache.near = s->near_past + s->times - 1 - t;
            cache.near_head = near_size(1 - (int64_t)s->times, 0);
        }
        if (s->told)
            jm_record_weights(s->model, s->told, rows->sentence[r], rows->slot[r], JM_DEC_SELF, n, t,
                              &cache);
        attend(s, s->wide + (int64_t)r * 3 * A, 3 * A, 1, &cache, s->context + (int64_t)r * A,
               worker);
    }
}

/* Each row looks at its source; the rows of one sentence together. Queries are in s->wide (R, A).
 */
static void attend_source(transformer_state *s, const jm_rows *rows, int32_t n,
                          jm_worker *worker) {
    const jm_config *c = &s->model->config;
    const int32_t K = c->head_width, A = c->heads * K;
    for (int32_t r = 0, next; r < rows->count; r = next) {
        const int32_t i = rows->sentence[r];
        for (next = r + 1; next < rows->count && rows->sentence[next] == i;) next++;
        jm_memory cache = source_of(s, n, i);
        cache.n = (int32_t)(s->offsets[i + 1] - s->offsets[i]);
        for (int32_t q = r; q < next && s->seen; q++)
            see_source(s, rows, n, q, s->wide + (int64_t)q * A, &cache, s->context + (int64_t)q * A,
                       worker);
        if (s->seen) continue;
        if (s->told)
            jm_record_weights(s->model, s->told, i, rows->slot[r], JM_CROSS, n, rows->time, &cache);
        attend(s, s->wide + (int64_t)r * A, A, next - r, &cache, s->context + (int64_t)r * A,
               worker);
        if (rows->look && rows->look->layer == n &&
            jm_look_at(rows->look, r, s->wide + (int64_t)r * A, A, next - r, c->heads, K,
                       jm_score_scale(c), &cache, &worker->scratch))
            worker->failed = 1;
    }
}

/* The position of a time; -1: it has none. */
static int32_t position_at(const transformer_state *s, int32_t time) {
    return s->seen ? jm_target_position(s->seen->probe, time) : time;
}

static void embed_target(transformer_state *s, const jm_rows *rows, float *x) {
    const jm_config *c = &s->model->config;
    const float *add = NULL;
    const int32_t at = position_at(s, rows->time);
    jm_embed(&s->model->target_embedding, rows->token, rows->count, c->embedding_scale, x);
    if (c->positions == JM_SINUSOIDAL && at >= 0) add = angles_at(s, at);
    if (c->positions == JM_LEARNED && at >= 0)
        add = s->parts->target_positions + (int64_t)at * c->width;
    for (int32_t r = 0; add && r < rows->count; r++)
        jm_add(x + (int64_t)r * c->width, add, c->width);
    if (c->embedding_norm) apply_norm(s, &s->parts->target_norm, x, x, NULL, rows->count);
}

static void rotate_rows(transformer_state *s, const jm_rows *rows) {
    const int32_t K = s->model->config.head_width, A = s->model->config.heads * K;
    const int32_t at = position_at(s, rows->time);
    if (at < 0) return;
    const float *angles = angles_at(s, at);
    for (int32_t r = 0; r < rows->count; r++) {
        rotate(s->wide + (int64_t)r * 3 * A, angles, A, K);
        rotate(s->wide + (int64_t)r * 3 * A + A, angles, A, K);
    }
}

static int step(void *state, const jm_rows *rows, float *features, jm_worker *worker) {
    transformer_state *s = state;
    const jm_config *c = &s->model->config;
    const int32_t D = c->width, A = c->heads * c->head_width, R = rows->count;
    float *x = features;
    if (c->positions == JM_LEARNED && position_at(s, rows->time) >= c->max_positions)
        return JM_PAST_TABLE;
    if (grow(s, rows->time)) return JM_NO_MEMORY;
    embed_target(s, rows, x);
    if (s->W > 1) write_index(s, rows);
    for (int32_t n = 0; n < c->decoder_layers; n++) {
        const layer *l = &s->parts->decoder[n];
        jm_apply(worker, &l->qkv, enter(s, &l->attention, x, R), D, R, s->wide, 3 * A, 0);
        if (c->positions == JM_ROTARY) rotate_rows(s, rows);
        attend_past(s, rows, n, worker);
        jm_apply(worker, &l->out, s->context, A, R, s->y, D, 0);
        record_step(s, rows, JM_DEC_SELF, n);
        leave(s, &l->attention, x, s->y, R);

        jm_apply(worker, &l->cross_q, enter(s, &l->cross, x, R), D, R, s->wide, A, 0);
        attend_source(s, rows, n, worker);
        jm_apply(worker, &l->cross_out, s->context, A, R, s->y, D, 0);
        record_step(s, rows, JM_CROSS, n);
        leave(s, &l->cross, x, s->y, R);

        feed_forward(s, l, x, R, worker);
    }
    if (c->norm == JM_NORM_PRE) apply_norm(s, &s->parts->decoder_norm, x, x, NULL, R);
    return JM_OK;
}

const jm_arch jm_transformer = {build, destroy, begin, step, end};
