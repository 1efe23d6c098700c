/* Looking inside: where a recording keeps what, and attention stage by stage in obvious loops, the slow
 * twin of jm_attend, for stages that are kept and for the changes of a what-if (nn/edit.py). Without a
 * probe no code here runs.
 *
 * Letters: H heads, d width of one, Q queries, K keys, S source, T room for target tokens, D width.
 */
#include <math.h>
#include <string.h>

#include "engine.h"

/* ---- where things stand ---- */

typedef struct {
    int32_t layers, heads, size; /* of one kind of attention */
} kind_of;

static kind_of kind_sizes(const jm_config *c, int32_t kind) {
    if (c->arch == JM_TRANSFORMER)
        return (kind_of){kind == JM_ENC_SELF ? c->encoder_layers : c->decoder_layers, c->heads,
                         c->head_width};
    return (kind_of){c->arch == JM_LUONG && kind == JM_CROSS, 1, c->width};
}

int32_t jm_attentions(const jm_model *model) {
    int32_t count = 0;
    for (int32_t kind = JM_ENC_SELF; model && kind <= JM_CROSS; kind++)
        count += kind_sizes(&model->config, kind).layers;
    return count;
}

/* Numbers of one part; 0: the model does not have it. */
static int64_t part_size(const jm_config *c, int64_t S, int64_t T, int32_t part, int32_t kind) {
    const kind_of k = kind_sizes(c, kind);
    const int64_t Q = kind == JM_ENC_SELF ? S : T, K = kind == JM_DEC_SELF ? T : S, D = c->width;
    const int recurrent = c->arch != JM_TRANSFORMER;
    const int64_t parts = c->cell == JM_CELL_LSTM ? 2 : 1;
    switch (part) {
    case JM_LOG_PROB:
    case JM_ENTROPY: return T;
    case JM_TOP_LOG_PROB:
    case JM_TOP_ID: return JM_RECORD_TOP * T;
    case JM_ENCODER: return recurrent ? S * D : 0;
    case JM_DECODER: return recurrent ? T * D : 0;
    case JM_BRIDGE: return recurrent ? c->decoder_layers * parts * D : 0;
    case JM_QUERY:
    case JM_CONTEXT: return k.heads * Q * k.size;
    case JM_KEY:
    case JM_VALUE: return k.heads * K * k.size;
    case JM_OUT: return Q * D;
    case JM_BIAS: return c->positions == JM_RELATIVE && !recurrent && kind != JM_CROSS ? k.heads * Q * K : 0;
    default: return k.heads * Q * K;
    }
}

static int is_kept(const jm_recording *r, int32_t part, int32_t number) {
    if (part <= JM_TOP_ID) return r->keep & JM_KEEP_STEPS;
    if (part <= JM_BRIDGE) return r->keep & JM_KEEP_STATES;
    if (part == JM_WEIGHTS) return r->keep & JM_KEEP_WEIGHTS;
    return r->stages && r->stages[number];
}

/* Numbers of the parts of one attention before `end`. */
static int64_t attention_size(const jm_config *c, const jm_recording *r, int64_t S, int64_t T,
                              int32_t kind, int32_t number, int32_t end) {
    int64_t size = 0;
    if (end > JM_WEIGHTS + 1 && !is_kept(r, JM_QUERY, number)) end = JM_WEIGHTS + 1;
    for (int32_t p = JM_WEIGHTS; p < end; p++)
        if (is_kept(r, p, number)) size += part_size(c, S, T, p, kind);
    return size;
}

int64_t jm_record_at(const jm_model *model, const jm_recording *recording, int32_t S, int32_t T,
                     int32_t part, int32_t kind, int32_t layer) {
    if (!model || !recording || model->members || S < 0 || T < 0 || part < 0 || part > JM_RECORD_END)
        return -1;
    const jm_config *c = &model->config;
    int64_t at = 0;
    for (int32_t p = JM_LOG_PROB; p <= JM_BRIDGE; p++) {
        const int64_t size = is_kept(recording, p, 0) ? part_size(c, S, T, p, 0) : 0;
        if (p == part) return size ? at : -1;
        at += size;
    }
    for (int32_t k = JM_ENC_SELF, number = 0; k <= JM_CROSS; k++) {
        for (int32_t n = 0; n < kind_sizes(c, k).layers; n++, number++) {
            if (part < JM_RECORD_END && k == kind && n == layer)
                return is_kept(recording, part, number) && part_size(c, S, T, part, k)
                           ? at + attention_size(c, recording, S, T, k, number, part)
                           : -1;
            at += attention_size(c, recording, S, T, k, number, JM_RECORD_END);
        }
    }
    return part == JM_RECORD_END ? at : -1;
}

static int32_t length_of(const jm_sources *s, int32_t i) {
    return (int32_t)(s->offsets[i + 1] - s->offsets[i]);
}

int jm_is_explicit(const jm_probe *probe) {
    return probe->edits || (probe->recording && probe->recording->stages);
}

float *jm_record_of(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t slot,
                    int32_t part, int32_t kind, int32_t layer) {
    const jm_probe *p = sources->probe;
    const jm_recording *r = p ? p->recording : NULL;
    if (!r) return NULL;
    const int64_t at = jm_record_at(model, r, length_of(sources, sentence), sources->limits[sentence],
                                    part, kind, layer);
    if (at < 0) return NULL;
    if (p->slots && slot >= 0)
        return p->slots + p->slot_places[sentence] + slot * p->slot_sizes[sentence] + at;
    return r->data + r->places[p->numbers[sentence]] + at;
}

void jm_record_rows(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t slot,
                    int32_t part, int32_t kind, int32_t layer, int32_t first, int32_t Q,
                    const float *rows) {
    const int64_t D = model->config.width;
    float *to = jm_record_of(model, sources, sentence, slot, part, kind, layer);
    if (to) memcpy(to + first * D, rows, (size_t)(Q * D) * sizeof(float));
}

void jm_record_weights(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t slot,
                       int32_t kind, int32_t layer, int32_t first, jm_memory *memory) {
    const int64_t S = length_of(sources, sentence), T = sources->limits[sentence];
    const int64_t Q = kind == JM_ENC_SELF ? S : T, K = kind == JM_DEC_SELF ? T : S;
    float *to = jm_record_of(model, sources, sentence, slot, JM_WEIGHTS, kind, layer);
    memory->weights = to ? to + first * K : NULL;
    memory->weights_head = Q * K;
    memory->weights_query = slot < 0 ? K : sources->probe->slots ? sources->probe->slot_sizes[sentence] : 0;
}

/* Rows t of a part (count, rows, size) from a slot into the sentence's recording, n numbers of each. */
static void take_rows(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t slot,
                      int32_t part, int32_t kind, int32_t layer, int64_t count, int64_t size, int32_t t,
                      int64_t n) {
    const float *from = jm_record_of(model, sources, sentence, slot, part, kind, layer);
    float *to = jm_record_of(model, sources, sentence, -1, part, kind, layer);
    for (int64_t i = 0; i < count && to; i++) {
        const int64_t at = (i * sources->limits[sentence] + t) * size;
        memcpy(to + at, from + at, (size_t)n * sizeof(float));
    }
}

void jm_record_step(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t slot,
                    int32_t t, float log_prob) {
    const int64_t sizes[JM_BRIDGE] = {1, 1, JM_RECORD_TOP, JM_RECORD_TOP, 0, model->config.width};
    for (int32_t p = JM_LOG_PROB; p <= JM_DECODER; p++)
        if (sizes[p]) take_rows(model, sources, sentence, slot, p, 0, 0, 1, sizes[p], t, sizes[p]);
    float *written = jm_record_of(model, sources, sentence, -1, JM_LOG_PROB, 0, 0);
    if (written) written[t] = log_prob;
    for (int32_t kind = JM_DEC_SELF; kind <= JM_CROSS; kind++) {
        const kind_of k = kind_sizes(&model->config, kind);
        const int64_t K = kind == JM_DEC_SELF ? sources->limits[sentence] : length_of(sources, sentence);
        for (int32_t n = 0; n < k.layers; n++)
            take_rows(model, sources, sentence, slot, JM_WEIGHTS, kind, n, k.heads, K, t,
                      kind == JM_DEC_SELF ? t + 1 : K);
    }
}

int32_t jm_target_position(const jm_probe *probe, int32_t t) {
    const jm_edits *e = probe ? probe->edits : NULL;
    if (!e) return t;
    return e->no_target_positions ? -1 : e->target_positions ? e->target_positions[t] : t;
}

int32_t jm_source_position(const jm_sources *sources, int32_t sentence, int32_t t) {
    const jm_probe *p = sources->probe;
    if (p && p->edits && p->edits->no_source_positions) return -1;
    return p && p->positions ? p->positions[sources->offsets[sentence] + t] : t;
}

float jm_score_scale(const jm_config *c) {
    return c->scaled ? (float)(1.0 / sqrt((double)c->head_width)) : 1.0f;
}

void jm_round_half(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        if (x[i] != x[i]) continue;
        memcpy(&bits, x + i, sizeof bits);
        bits = (bits + (bits >> 16 & 1) + 0x7fff) & 0xffff0000;
        memcpy(x + i, &bits, sizeof bits);
    }
}

/* ---- what is given ---- */

static int compare_cells(const int32_t *a, const int32_t *b) {
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int are_cells(const int32_t *cells, int32_t count) {
    if (count < 0 || (count > 0 && !cells)) return 0;
    for (int64_t i = 1; i < count; i++)
        if (compare_cells(cells + 3 * (i - 1), cells + 3 * i) >= 0) return 0;
    return 1;
}

static int are_positions(const int32_t *positions, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (positions[i] < 0) return 0;
    return 1;
}

/* `longest`: the most tokens of a target. */
int jm_are_edits(const jm_model *model, const jm_edits *e, const jm_batch *batch, int64_t longest) {
    if (!e) return 1;
    if (model->members || e->count < 0 || (e->count > 0 && !e->attention)) return 0;
    for (int32_t i = 0; i < e->count; i++) {
        const jm_attention_edit *one = &e->attention[i];
        if (!are_cells(one->cut, one->cuts) || !are_cells(one->cell, one->cells) ||
            (one->cells > 0 && !one->weight))
            return 0;
    }
    if (e->source_positions &&
        !are_positions(e->source_positions + batch->offsets[0],
                       batch->offsets[batch->count] - batch->offsets[0]))
        return 0;
    return !e->target_positions ||
           (e->target_count >= longest && are_positions(e->target_positions, e->target_count));
}

int jm_is_recording(const jm_model *model, const jm_batch *batch) {
    const jm_recording *r = batch->recording;
    return !r || (!model->members && r->data && r->places);
}

/* ---- attention ---- */

static const jm_attention_edit *edit_of(const jm_probe *probe, int32_t kind, int32_t layer) {
    const jm_edits *e = probe->edits;
    for (int32_t i = 0; e && i < e->count; i++)
        if (e->attention[i].kind == kind && e->attention[i].layer == layer) return &e->attention[i];
    return NULL;
}

/* The first of the ascending cells that is not before this one. */
static int32_t first_cell(const int32_t *cells, int32_t count, int32_t head, int32_t query) {
    const int32_t wanted[3] = {head, query, INT32_MIN};
    int32_t low = 0, high = count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (compare_cells(cells + 3 * (int64_t)middle, wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether cell i is of this query; then *key. */
static int is_of(const int32_t *cells, int32_t count, int32_t i, int32_t head, int32_t query,
                 int32_t *key) {
    if (i >= count || cells[3 * (int64_t)i] != head || cells[3 * (int64_t)i + 1] != query) return 0;
    *key = cells[3 * (int64_t)i + 2];
    return 1;
}

static const float *row_at(const void *rows, const jm_memory *m, int32_t head, int32_t t) {
    return (const float *)rows + head * m->head + (m->index ? m->index[t] : t) * m->stride;
}

/* The numbers of one query in one head, n keys each. */
typedef struct {
    float *scores, *scaled, *placed, *mask, *weight, *given;
} lines;

static float score_of(const jm_seen *a, const float *query, const float *key, int32_t size,
                      float *pair) {
    if (!a->v) return jm_dot(query, key, size);
    memcpy(pair, query, (size_t)size * sizeof(float));
    jm_add(pair, key, size);
    jm_tanh(pair, pair, size);
    return jm_dot(pair, a->v, size);
}

/* The keys that a cut leaves; -1: none. */
static int32_t cut_keys(const jm_attention_edit *e, int32_t head, int32_t query, int32_t n, lines *l) {
    int32_t left = n, k;
    for (int32_t i = first_cell(e->cut, e->cuts, head, query); is_of(e->cut, e->cuts, i, head, query, &k);
         i++) {
        if (k < 0 || k >= n) continue;
        l->mask[k] = 0;
        l->placed[k] = -INFINITY;
        left--;
    }
    return left;
}

/* Uniform weights over the keys that are left, then the row that is set, if a key of it is there. */
static void change_weights(const jm_attention_edit *e, int32_t head, int32_t query, int32_t n,
                           int32_t left, lines *l) {
    float total = 0;
    int32_t k;
    if (e->uniform && e->uniform[head])
        for (int32_t t = 0; t < n; t++) l->weight[t] = l->mask[t] / (float)left;
    const int32_t first = first_cell(e->cell, e->cells, head, query);
    for (int32_t i = first; is_of(e->cell, e->cells, i, head, query, &k); i++)
        if (k >= 0 && k < n) total += e->weight[i];
    if (!(total > 0)) return;
    memset(l->weight, 0, (size_t)n * sizeof(float));
    for (int32_t i = first; is_of(e->cell, e->cells, i, head, query, &k); i++)
        if (k >= 0 && k < n) l->weight[k] = e->weight[i] / total;
}

static void add_values(const jm_memory *m, int32_t head, const float *weight, int32_t size, float factor,
                       float *out) {
    if (!m->index) {
        jm_weighted_sum(out, weight, row_at(m->values, m, head, 0), m->stride, m->n, size);
    } else {
        memset(out, 0, (size_t)size * sizeof(float));
        for (int32_t t = 0; t < m->n; t++) {
            const float *value = row_at(m->values, m, head, t);
            for (int32_t i = 0; i < size; i++) out[i] += weight[t] * value[i];
        }
    }
    for (int32_t i = 0; i < size && factor != 1; i++) out[i] *= factor;
}

/* n numbers, and behind them `rest` up to K: what no query may look at. */
static void write_line(float *part, int64_t row, int64_t K, const float *line, int32_t n, float rest) {
    if (!part) return;
    memcpy(part + row * K, line, (size_t)n * sizeof(float));
    for (int64_t k = n; k < K; k++) part[row * K + k] = rest;
}

/* Where the stages of one attention go; NULL: not kept. */
typedef struct {
    float *query, *key, *value, *scores, *scaled, *bias, *mask, *weights, *context;
    int64_t queries, keys; /* Q and K of the recording */
} stages;

static stages stages_of(const jm_seen *a) {
    float *part[JM_OUT] = {0};
    const jm_recording *r = a->sources->probe->recording;
    for (int32_t p = JM_WEIGHTS; r && p < JM_OUT && (r->stages || p == JM_WEIGHTS); p++)
        part[p] = jm_record_of(a->model, a->sources, a->sentence, a->slot, p, a->kind, a->layer);
    const int64_t S = length_of(a->sources, a->sentence), T = a->sources->limits[a->sentence];
    return (stages){part[JM_QUERY],  part[JM_KEY],     part[JM_VALUE],
                    part[JM_SCORES], part[JM_SCALED],  part[JM_BIAS],
                    part[JM_MASK],   part[JM_WEIGHTS], part[JM_CONTEXT],
                    a->kind == JM_ENC_SELF ? S : T,    a->kind == JM_DEC_SELF ? T : S};
}

/* The keys and values that are new: of the target those of this step, of a source all, once. */
static void record_memory(const jm_seen *a, const stages *to, int32_t head, int32_t size) {
    const jm_memory *m = &a->memory;
    const int32_t first = a->kind == JM_DEC_SELF ? m->n - 1 : 0;
    if (!to->key || (a->kind != JM_DEC_SELF && a->first > 0)) return;
    for (int32_t t = first; t < m->n; t++) {
        const int64_t at = (head * to->keys + t) * size;
        memcpy(to->key + at, row_at(m->keys, m, head, t), (size_t)size * sizeof(float));
        memcpy(to->value + at, row_at(m->values, m, head, t), (size_t)size * sizeof(float));
    }
}

/* One query in one head; JM_OK or JM_NO_KEY. */
static int attend_row(const jm_seen *a, const jm_attention_edit *e, const stages *to, int32_t head,
                      int32_t q, int32_t size, lines l, float *pair) {
    const jm_memory *m = &a->memory;
    const int32_t n = m->n, position = a->first + q;
    const float scale = e && e->no_scale ? 1.0f : a->scale;
    const float factor = e && e->factors ? e->factors[head] : 1.0f;
    const float *query = a->query + q * a->ldq + (int64_t)head * size;
    const float *bias = a->bias ? a->bias + ((int64_t)head * a->Q + q) * a->ldb : NULL;
    float *out = a->out + q * a->ldo + (int64_t)head * size;
    const int64_t row = head * to->queries + position;
    int32_t left = n;
    for (int32_t t = 0; t < n; t++) {
        l.scores[t] = score_of(a, query, row_at(m->keys, m, head, t), size, pair);
        l.scaled[t] = l.scores[t] * scale;
        l.placed[t] = l.scaled[t] + (bias ? bias[t] : 0);
        l.mask[t] = 1;
    }
    if (e && e->cuts) left = cut_keys(e, head, position, n, &l);
    if (n > 0 && left < 1) return JM_NO_KEY;
    memcpy(l.weight, l.placed, (size_t)n * sizeof(float));
    if (n > 0) jm_softmax(l.weight, n);
    if (e) change_weights(e, head, position, n, left, &l);
    add_values(m, head, l.weight, size, factor, out);
    write_line(to->scores, row, to->keys, l.scores, n, 0);
    write_line(to->scaled, row, to->keys, l.scaled, n, 0);
    write_line(to->mask, row, to->keys, l.mask, n, 0);
    write_line(to->weights, row, to->keys, l.weight, n, 0);
    if (to->bias && bias) memcpy(to->bias + row * to->keys, bias, (size_t)to->keys * sizeof(float));
    if (to->query) memcpy(to->query + row * size, query, (size_t)size * sizeof(float));
    if (to->context) memcpy(to->context + row * size, out, (size_t)size * sizeof(float));
    return JM_OK;
}

int jm_attend_seen(const jm_seen *a, jm_scratch *s) {
    const kind_of k = kind_sizes(&a->model->config, a->kind);
    const int64_t n = jm_attend_stride(a->memory.n), size = k.size;
    const jm_attention_edit *e = edit_of(a->sources->probe, a->kind, a->layer);
    const jm_look *look = a->look && a->look->layer == a->layer ? a->look : NULL;
    const stages to = stages_of(a);
    float *at = jm_scratch_get(s, (size_t)(6 * n + size + 1) * sizeof(float));
    if (!at) return JM_NO_MEMORY;
    lines l = {at, at + n, at + 2 * n, at + 3 * n, at + 4 * n, at + 5 * n};
    for (int32_t h = 0; h < k.heads; h++) record_memory(a, &to, h, k.size);
    for (int32_t q = 0; q < a->Q; q++) {
        memset(l.given, 0, (size_t)n * sizeof(float)); /* the sum of the heads that align */
        for (int32_t h = 0; h < k.heads; h++) {
            const int code = attend_row(a, e, &to, h, q, k.size, l, at + 6 * n);
            if (code) return code;
            if (look && (look->head < 0 || look->head == h)) jm_add(l.given, l.weight, a->memory.n);
        }
        if (look)
            jm_look_best(look, a->row + q, l.given, a->memory.n,
                         look->head < 0 ? 1.0f / (float)k.heads : 1.0f);
    }
    return JM_OK;
}

/* ---- the end of a recording ---- */

/* Keys that come after their query have no weight; their scores exist, and the mask hides them. */
static void close_layer(const jm_model *model, const jm_sources *sources, int32_t i, int32_t layer,
                        int32_t T) {
    const kind_of k = kind_sizes(&model->config, JM_DEC_SELF);
    const jm_seen a = {.model = model, .sources = sources, .sentence = i, .slot = -1,
                       .kind = JM_DEC_SELF, .layer = layer};
    const jm_attention_edit *e = edit_of(sources->probe, JM_DEC_SELF, layer);
    const float scale = e && e->no_scale ? 1.0f : jm_score_scale(&model->config);
    const stages to = stages_of(&a);
    for (int64_t row = 0; row < k.heads * T && to.weights; row++) {
        float *weight = to.weights + (row / T * to.queries + row % T) * to.keys;
        for (int64_t t = row % T + 1; t < T; t++) weight[t] = 0;
    }
    if (!to.query) return;
    for (int64_t h = 0; h < k.heads; h++) {
        for (int64_t q = 0; q < T; q++) {
            for (int64_t t = q + 1; t < T; t++) {
                const int64_t at = (h * to.queries + q) * to.keys + t;
                to.scores[at] = jm_dot(to.query + (h * to.queries + q) * k.size,
                                       to.key + (h * to.keys + t) * k.size, k.size);
                to.scaled[at] = to.scores[at] * scale;
            }
        }
    }
}

void jm_record_close(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t T) {
    const int32_t layers = kind_sizes(&model->config, JM_DEC_SELF).layers;
    for (int32_t n = 0; n < layers; n++) close_layer(model, sources, sentence, n, T);
}
