/* The two recurrent models of models/rnn.py and models/luong.py.
 *
 *   H, h_final = RNN(X)             the encoder, every state and the last one of each layer
 *   s_t = Cell(y_{t-1}, s_{t-1})    the decoder, s_0 = h_final; features of the RNN
 *   c_t = softmax(score(s_t, H)) H  Luong: context
 *   s~_t = tanh([c_t; s_t] W_c)     Luong: features; input feeding: the cell reads [y_t; s~_t]
 *
 * Letters: B sentences, R rows, n source tokens, D width, N layers, C parts of a cell's state (two
 * of an LSTM: h, c), G gates, h the width of one direction.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

typedef struct {
    jm_matrix input, hidden; /* (G h, in), (G h, h), both with a bias */
} cell_weights;

typedef struct {
    int32_t layers, directions, gates, parts; /* N, 1 or 2, G, C */
    cell_weights *encoder;                    /* [N][directions] */
    cell_weights *decoder;                    /* [N] */
    jm_matrix w_ask;                          /* Luong: w_a or w_query */
    jm_matrix w_memory, w_c;
    const float *v_a;
} recurrent_parts;

/* The states (N, C, rows, D) of rows, and with input feeding their s~ (rows, D). */
typedef struct {
    float *hidden, *attentional;
    int64_t rows;
} states;

typedef struct {
    const jm_model *model;
    const recurrent_parts *parts;
    float *memory, *keys; /* Luong: H (n, D); H W_memory (n, D) for concat, else H itself */
    int64_t *offsets;     /* Luong: where each sentence lies in H */
    states last, next;
    float *work; /* for `room` rows */
    int64_t room;
    int32_t *groups; /* Luong: rows of one sentence begin here */
    const jm_sources *told; /* where someone looks inside, else NULL */
} recurrent_state;

/* ---- parts ---- */

static int is_luong(const jm_model *model)
{
    return model->config.arch == JM_LUONG;
}

static void check(const jm_config *c, jm_builder *b)
{
    if (c->cell < JM_CELL_RNN || c->cell > JM_CELL_LSTM) {
        jm_fail(b, "cell = %d is unknown", c->cell);
    } else if (c->encoder_layers < 1 || c->decoder_layers != c->encoder_layers) {
        jm_fail(b, "encoder_layers = %d and decoder_layers = %d must be equal, and 1 or more",
                c->encoder_layers, c->decoder_layers);
    } else if (c->bidirectional && c->width % 2) {
        jm_fail(b, "width = %d does not split into two directions", c->width);
    } else if (c->arch == JM_LUONG && (c->score < JM_SCORE_DOT || c->score > JM_SCORE_CONCAT)) {
        jm_fail(b, "score = %d is unknown", c->score);
    }
}

static void find_cells(recurrent_parts *p, const jm_config *c, jm_builder *b)
{
    const int32_t D = c->width, h = D / p->directions, G = p->gates;
    for (int32_t n = 0; n < p->layers && !b->failed; n++) {
        for (int32_t d = 0; d < p->directions; d++) {
            cell_weights *cell = p->encoder + n * p->directions + d;
            jm_find_matrix(b, &cell->input, G * h, D, 1, "encoder.%d.%d.input", n, d);
            jm_find_matrix(b, &cell->hidden, G * h, h, 1, "encoder.%d.%d.hidden", n, d);
        }
        const int32_t in = n == 0 && c->arch == JM_LUONG && c->input_feeding ? 2 * D : D;
        jm_find_matrix(b, &p->decoder[n].input, G * D, in, 1, "decoder.%d.input", n);
        jm_find_matrix(b, &p->decoder[n].hidden, G * D, D, 1, "decoder.%d.hidden", n);
    }
}

static void find_attention(recurrent_parts *p, const jm_config *c, jm_builder *b)
{
    const int32_t D = c->width;
    if (c->score == JM_SCORE_GENERAL) {
        jm_find_matrix(b, &p->w_ask, D, D, 0, "attention.w_a");
    } else if (c->score == JM_SCORE_CONCAT) {
        jm_find_matrix(b, &p->w_ask, D, D, 0, "attention.w_query");
        jm_find_matrix(b, &p->w_memory, D, D, 0, "attention.w_memory");
        jm_find_vector(b, &p->v_a, 1, D, "attention.v_a");
    }
    jm_find_matrix(b, &p->w_c, D, 2 * D, 0, "attention.w_c");
}

static void build(jm_model *model, jm_builder *b)
{
    const jm_config *c = &model->config;
    check(c, b);
    if (b->failed) {
        return;
    }
    recurrent_parts *p = calloc(1, sizeof *p);
    model->parts = p;
    if (p == NULL) {
        jm_fail(b, "no memory");
        return;
    }
    p->layers = c->encoder_layers;
    p->directions = c->bidirectional ? 2 : 1;
    p->gates = c->cell == JM_CELL_RNN ? 1 : c->cell == JM_CELL_GRU ? 3 : 4;
    p->parts = c->cell == JM_CELL_LSTM ? 2 : 1;
    p->encoder = calloc((size_t)p->layers * (size_t)p->directions, sizeof *p->encoder);
    p->decoder = calloc((size_t)p->layers, sizeof *p->decoder);
    if (p->encoder == NULL || p->decoder == NULL) {
        jm_fail(b, "no memory");
        return;
    }
    find_cells(p, c, b);
    if (is_luong(model)) {
        find_attention(p, c, b);
    }
}

static void destroy(jm_model *model)
{
    recurrent_parts *p = model->parts;
    if (p != NULL) {
        free(p->encoder);
        free(p->decoder);
        free(p);
    }
}

/* ---- one step of a cell ---- */

/* Given x = x_t W_ih^T + b_ih and y = h_{t-1} W_hh^T + b_hh, both (G h); y is overwritten.
 *   rnn   h' = tanh(x + y)
 *   gru   r, z = sigmoid(x + y), n = tanh(x_n + r y_n), h' = (1 - z) n + z h; in the order r, z, n
 *   lstm  i, f, o = sigmoid(x + y), g = tanh(x + y), c' = f c + i g, h' = o tanh(c'); i, f, g, o
 * The new state may stand where the old one does. */
static void cell_step(int32_t cell, int64_t h, const float *x, float *y, const float *old_h,
                      const float *old_c, float *new_h, float *new_c)
{
    if (cell == JM_CELL_RNN) {
        jm_add(y, x, h);
        jm_tanh(new_h, y, h);
    } else if (cell == JM_CELL_GRU) {
        float *r = y, *z = y + h, *n = y + 2 * h;
        jm_add(y, x, 2 * h);
        jm_sigmoid(y, y, 2 * h);
        for (int64_t i = 0; i < h; i++) {
            n[i] = x[2 * h + i] + r[i] * n[i];
        }
        jm_tanh(n, n, h);
        for (int64_t i = 0; i < h; i++) {
            new_h[i] = n[i] + z[i] * (old_h[i] - n[i]);
        }
    } else {
        float *in = y, *forget = y + h, *g = y + 2 * h, *out = y + 3 * h;
        jm_add(y, x, 4 * h);
        jm_sigmoid(y, y, 2 * h);
        jm_tanh(g, g, h);
        jm_sigmoid(out, out, h);
        for (int64_t i = 0; i < h; i++) {
            new_c[i] = forget[i] * old_c[i] + in[i] * g[i];
        }
        jm_tanh(in, new_c, h);
        for (int64_t i = 0; i < h; i++) {
            new_h[i] = out[i] * in[i];
        }
    }
}

/* ---- the encoder ---- */

/* One layer that reads n tokens of B sentences; each direction is a task. */
typedef struct {
    const recurrent_parts *parts;
    const cell_weights *cells; /* of this layer, one of each direction */
    const jm_sources *sources;
    const int32_t *order; /* (B) sentences, longest first */
    int32_t cell;
    int64_t width;   /* D */
    float *projected; /* [directions](n, G h): x_t W_ih^T + b_ih of every token */
    float *work;      /* [directions](B, (G + C) h) */
    float *out;       /* (n, D) */
    float *final;     /* (C, B, D) */
    atomic_int failed;
} reading;

static int64_t length_of(const jm_sources *s, int32_t sentence)
{
    return s->offsets[sentence + 1] - s->offsets[sentence];
}

/* The time loop of one direction. The R sentences that still go on stand first in `order`. */
static void read_direction(void *argument, int32_t d, jm_scratch *scratch)
{
    reading *to = argument;
    const jm_sources *s = to->sources;
    const int64_t B = s->count, h = to->width / to->parts->directions, G = to->parts->gates;
    const int64_t n = s->offsets[B];
    const cell_weights *cell = to->cells + d;
    const float *x = to->projected + d * n * G * h;
    float *hidden = to->work + d * B * (G + to->parts->parts) * h; /* (C, B, h) */
    float *y = hidden + B * to->parts->parts * h;                  /* (B, G h) */
    memset(hidden, 0, (size_t)(B * to->parts->parts * h) * sizeof(float));
    int32_t R = s->count;
    for (int64_t t = 0; t < length_of(s, to->order[0]); t++) {
        while (length_of(s, to->order[R - 1]) <= t) {
            R--;
        }
        if (jm_linear(&cell->hidden, hidden, h, R, y, G * h, 0, scratch)) {
            atomic_store(&to->failed, 1);
            return;
        }
        for (int32_t r = 0; r < R; r++) {
            const int32_t sentence = to->order[r];
            const int64_t *range = s->offsets + sentence;
            const int64_t place = d == 0 ? range[0] + t : range[1] - 1 - t;
            float *state = hidden + r * h, *part = hidden + (B + r) * h; /* h, and of an LSTM c */
            cell_step(to->cell, h, x + place * G * h, y + r * G * h, state, part, state, part);
            memcpy(to->out + place * to->width + d * h, state, (size_t)h * sizeof(float));
        }
    }
    for (int64_t c = 0; c < to->parts->parts; c++) {
        for (int64_t r = 0; r < B; r++) {
            float *final = to->final + (c * B + to->order[r]) * to->width + d * h;
            memcpy(final, hidden + (c * B + r) * h, (size_t)h * sizeof(float));
        }
    }
}

static int by_falling(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a < b) - (a > b);
}

/* The longest sentence first. `keys` is memory: the length above, the sentence below. */
static void sort_by_length(const jm_sources *s, uint64_t *keys, int32_t *order)
{
    for (int32_t i = 0; i < s->count; i++) {
        keys[i] = (uint64_t)length_of(s, i) << 32 | (uint32_t)i;
    }
    qsort(keys, (size_t)s->count, sizeof *keys, by_falling);
    for (int32_t i = 0; i < s->count; i++) {
        order[i] = (int32_t)(uint32_t)keys[i];
    }
}

/* H (n, D) into out, h_final (N, C, B, D) into final. */
static int encode(const jm_model *model, const jm_sources *sources, float *out, float *final,
                  jm_worker *worker)
{
    const recurrent_parts *p = model->parts;
    const int64_t D = model->config.width, B = sources->count, n = sources->offsets[B];
    const int64_t h = D / p->directions, gates = p->gates * h;
    const int64_t work = B * (gates + p->parts * h);
    uint64_t *keys = jm_allocate((size_t)B * sizeof *keys);
    int32_t *order = jm_allocate((size_t)B * sizeof *order);
    float *memory = jm_allocate((size_t)(p->directions * (n * gates + work)) * sizeof *memory);
    reading to = {.parts = p, .sources = sources, .order = order, .width = D};
    int result = keys == NULL || order == NULL || memory == NULL ? JM_NO_MEMORY : JM_OK;
    if (result == JM_OK) {
        const float scale = model->config.embedding_scale;
        sort_by_length(sources, keys, order);
        jm_embed(&model->source_embedding, sources->ids, (int32_t)n, scale, out);
        to.cell = model->config.cell;
        to.projected = memory;
        to.work = memory + p->directions * n * gates;
        to.out = out;
    }
    for (int32_t i = 0; i < p->layers && result == JM_OK; i++) {
        to.cells = p->encoder + i * p->directions;
        to.final = final + i * p->parts * B * D;
        for (int32_t d = 0; d < p->directions; d++) {
            float *x = to.projected + d * n * gates;
            jm_apply(worker, &to.cells[d].input, out, D, (int32_t)n, x, gates, 0);
        }
        jm_share(worker, p->directions, read_direction, &to); /* writes `out` anew */
        result = atomic_load(&to.failed) ? JM_NO_MEMORY : JM_OK;
    }
    jm_release(memory);
    jm_release(order);
    jm_release(keys);
    return result;
}

/* ---- the state of a search ---- */

static void end(void *state)
{
    recurrent_state *s = state;
    if (s == NULL) {
        return;
    }
    if (s->keys != s->memory) {
        jm_release(s->keys);
    }
    jm_release(s->memory);
    jm_release(s->offsets);
    jm_release(s->last.hidden);
    jm_release(s->last.attentional);
    jm_release(s->next.hidden);
    jm_release(s->next.attentional);
    jm_release(s->work);
    jm_release(s->groups);
    free(s);
}

/* Room for so many rows; what stood there is lost. */
static int reserve_states(const recurrent_state *s, states *of, int64_t rows)
{
    const int64_t D = s->model->config.width, each = s->parts->layers * s->parts->parts * D;
    if (rows <= of->rows) {
        return JM_OK;
    }
    jm_release(of->hidden);
    jm_release(of->attentional);
    of->attentional = NULL;
    of->rows = 0;
    of->hidden = jm_allocate((size_t)(rows * each) * sizeof(float));
    if (is_luong(s->model) && s->model->config.input_feeding) {
        of->attentional = jm_allocate((size_t)(rows * D) * sizeof(float));
        if (of->attentional == NULL) {
            return JM_NO_MEMORY;
        }
    }
    of->rows = of->hidden == NULL ? 0 : rows;
    return of->hidden == NULL ? JM_NO_MEMORY : JM_OK;
}

/* What a step needs for each row: the token y (D), the old state (D), the joined input (2 D), and
 * both sides of the gates (G D each). */
static int64_t work_columns(const recurrent_state *s)
{
    return (4 + 2 * (int64_t)s->parts->gates) * s->model->config.width;
}

static int reserve_step(recurrent_state *s, int64_t rows)
{
    if (rows > s->room) {
        jm_release(s->work);
        jm_release(s->groups);
        s->room = 0;
        s->work = jm_allocate((size_t)(rows * work_columns(s)) * sizeof(float));
        s->groups = jm_allocate((size_t)(rows + 1) * sizeof(int32_t));
        if (s->work == NULL || s->groups == NULL) {
            return JM_NO_MEMORY;
        }
        s->room = rows;
    }
    return reserve_states(s, &s->next, rows);
}

/* What attention looks at. */
static int keep_memory(recurrent_state *s, const jm_sources *sources, jm_worker *worker)
{
    const int64_t D = s->model->config.width, B = sources->count, n = sources->offsets[B];
    s->keys = s->memory;
    s->offsets = jm_allocate((size_t)(B + 1) * sizeof *s->offsets);
    if (s->offsets == NULL) {
        return JM_NO_MEMORY;
    }
    memcpy(s->offsets, sources->offsets, (size_t)(B + 1) * sizeof *s->offsets);
    if (s->model->config.score == JM_SCORE_CONCAT) {
        s->keys = jm_allocate((size_t)(n * D) * sizeof(float));
        if (s->keys == NULL) {
            return JM_NO_MEMORY;
        }
        jm_apply(worker, &s->parts->w_memory, s->memory, D, (int32_t)n, s->keys, D, 0);
    }
    if (s->last.attentional != NULL) {
        memset(s->last.attentional, 0, (size_t)(B * D) * sizeof(float));
    }
    return JM_OK;
}

/* Someone looks: the states of the encoder, and where the decoder starts, perhaps from elsewhere. */
static void see_start(const recurrent_state *s, const jm_sources *sources)
{
    const int64_t D = s->model->config.width, B = sources->count;
    const int64_t each = s->parts->layers * s->parts->parts;
    const jm_probe *probe = sources->probe;
    for (int32_t i = 0; i < B; i++) {
        float *bridge = jm_record_of(s->model, sources, i, -1, JM_BRIDGE, 0, 0);
        for (int64_t n = 0; n < each; n++) {
            float *start = s->last.hidden + (n * B + i) * D;
            if (probe->edits != NULL && probe->edits->bridge != NULL) {
                memcpy(start, probe->edits->bridge + n * D, (size_t)D * sizeof(float));
            }
            if (bridge != NULL) {
                memcpy(bridge + n * D, start, (size_t)D * sizeof(float));
            }
        }
        jm_record_rows(s->model, sources, i, -1, JM_ENCODER, 0, 0, 0,
                       (int32_t)length_of(sources, i), s->memory + sources->offsets[i] * D);
    }
}

static int begin(const jm_model *model, const jm_sources *sources, int32_t width, jm_worker *worker,
                 void **state, int32_t *bad)
{
    const int64_t D = model->config.width, B = sources->count, n = sources->offsets[B];
    recurrent_state *s = calloc(1, sizeof *s);
    (void)width; /* room for more rows is made when they come */
    (void)bad;
    *state = NULL;
    if (s == NULL) {
        return JM_NO_MEMORY;
    }
    s->model = model;
    s->parts = model->parts;
    s->memory = s->keys = n > INT32_MAX ? NULL : jm_allocate((size_t)(n * D) * sizeof(float));
    int result = s->memory == NULL ? JM_NO_MEMORY : reserve_states(s, &s->last, B);
    if (result == JM_OK) {
        result = encode(model, sources, s->memory, s->last.hidden, worker);
    }
    if (result == JM_OK && sources->probe != NULL) {
        s->told = sources;
        see_start(s, sources);
    }
    if (result == JM_OK && is_luong(model)) {
        result = keep_memory(s, sources, worker);
    } else {
        jm_release(s->memory); /* the fixed vector is all that the decoder gets */
        s->memory = s->keys = NULL;
    }
    if (result != JM_OK) {
        end(s);
        return result;
    }
    s->last.rows = B;
    *state = s;
    return JM_OK;
}

/* ---- attention ---- */

/* Tasks, one a sentence: the contexts of its rows. */
typedef struct {
    const recurrent_state *state;
    const jm_rows *rows;
    const float *asks; /* (R, D) */
    float *joined;     /* (R, 2 D), the context first */
    atomic_int failed, blind; /* blind: as in a worker */
} looking;

/* score = v_a . tanh(ask + key), then the softmax and the sum. */
static int attend_concat(const looking *at, int64_t row, const jm_memory *memory,
                         jm_scratch *scratch)
{
    const recurrent_state *s = at->state;
    const int64_t D = s->model->config.width;
    const int32_t count = memory->n;
    float *pair = jm_scratch_get(scratch, (size_t)(D + count) * sizeof(float)), *scores = pair + D;
    if (pair == NULL) {
        return -1;
    }
    for (int32_t t = 0; t < count; t++) {
        memcpy(pair, at->asks + row * D, (size_t)D * sizeof(float));
        jm_add(pair, (const float *)memory->keys + t * D, D);
        jm_tanh(pair, pair, D);
        scores[t] = jm_dot(pair, s->parts->v_a, D);
    }
    jm_softmax(scores, count);
    if (at->rows->look != NULL) {
        jm_look_best(at->rows->look, (int32_t)row, scores, count, 1);
    }
    if (memory->weights != NULL) {
        memcpy(memory->weights, scores, (size_t)count * sizeof(float));
    }
    jm_weighted_sum(at->joined + row * 2 * D, scores, memory->values, D, count, (int32_t)D);
    return 0;
}

/* Where stages are kept, or changed: one row. */
static int see_row(looking *at, int64_t row, const jm_memory *memory, jm_scratch *scratch)
{
    const recurrent_state *s = at->state;
    const int64_t D = s->model->config.width;
    const jm_seen a = {.model = s->model,
                       .sources = s->told,
                       .sentence = at->rows->sentence[row],
                       .slot = at->rows->slot[row],
                       .kind = JM_CROSS,
                       .first = at->rows->time,
                       .Q = 1,
                       .query = at->asks + row * D,
                       .memory = *memory,
                       .scale = 1,
                       .v = s->model->config.score == JM_SCORE_CONCAT ? s->parts->v_a : NULL,
                       .look = at->rows->look,
                       .row = (int32_t)row,
                       .out = at->joined + row * 2 * D};
    const int code = jm_attend_seen(&a, scratch);
    if (code == JM_NO_KEY) {
        atomic_store(&at->blind, a.sentence + 1);
    }
    return code == JM_NO_MEMORY;
}

/* The weights of this row, and of those behind it that ask the same memory, are recorded. */
static void record_weights(const looking *at, int64_t row, jm_memory *memory)
{
    if (at->state->told != NULL) {
        jm_record_weights(at->state->model, at->state->told, at->rows->sentence[row],
                          at->rows->slot[row], JM_CROSS, 0, at->rows->time, memory);
    }
}

static void look(void *argument, int32_t group, jm_scratch *scratch)
{
    looking *at = argument;
    const recurrent_state *s = at->state;
    const int64_t D = s->model->config.width, row = s->groups[group], behind = s->groups[group + 1];
    const int64_t first = s->offsets[at->rows->sentence[row]];
    jm_memory memory = {.keys = s->keys + first * D,
                        .values = s->memory + first * D,
                        .stride = D,
                        .n = (int32_t)(s->offsets[at->rows->sentence[row] + 1] - first)};
    const int explicit = s->told != NULL && jm_is_explicit(s->told->probe);
    int failed = 0;
    if (explicit) {
        for (int64_t r = row; r < behind && !failed; r++) {
            failed = see_row(at, r, &memory, scratch);
        }
    } else if (s->model->config.score == JM_SCORE_CONCAT) {
        for (int64_t r = row; r < behind && !failed; r++) {
            record_weights(at, r, &memory);
            failed = attend_concat(at, r, &memory, scratch);
        }
    } else {
        record_weights(at, row, &memory);
        failed = jm_attend(at->asks + row * D, D, (int32_t)(behind - row), 1, (int32_t)D, 1,
                           &memory, at->joined + row * 2 * D, 2 * D, scratch);
        if (at->rows->look != NULL && !failed) {
            failed = jm_look_at(at->rows->look, (int32_t)row, at->asks + row * D, D,
                                (int32_t)(behind - row), 1, (int32_t)D, 1, &memory, scratch);
        }
    }
    if (failed) {
        atomic_store(&at->failed, 1);
    }
}

/* Rows of one sentence stand together: where each sentence begins, and the end. */
static int32_t find_groups(const jm_rows *rows, int32_t *groups)
{
    int32_t count = 0;
    for (int32_t r = 0; r < rows->count; r++) {
        if (r == 0 || rows->sentence[r] != rows->sentence[r - 1]) {
            groups[count++] = r;
        }
    }
    groups[count] = rows->count;
    return count;
}

/* s~ = tanh([c; s] W_c) of the top states s (R, D); `asks` and `joined` are memory. */
static int attentional(recurrent_state *s, const jm_rows *rows, const float *top, float *asks,
                       float *joined, float *features, jm_worker *worker)
{
    const int64_t D = s->model->config.width, R = rows->count;
    looking at = {.state = s, .rows = rows, .asks = top, .joined = joined};
    if (s->model->config.score != JM_SCORE_DOT) {
        jm_apply(worker, &s->parts->w_ask, top, D, rows->count, asks, D, 0);
        at.asks = asks;
    }
    jm_share(worker, find_groups(rows, s->groups), look, &at);
    for (int64_t r = 0; r < R; r++) {
        memcpy(joined + (2 * r + 1) * D, top + r * D, (size_t)D * sizeof(float));
    }
    jm_apply(worker, &s->parts->w_c, joined, 2 * D, rows->count, features, D, 0);
    jm_tanh(features, features, R * D);
    if (atomic_load(&at.blind) && !worker->blind) {
        worker->blind = atomic_load(&at.blind);
    }
    return atomic_load(&at.failed) ? JM_NO_MEMORY : JM_OK;
}

/* ---- one step ---- */

/* Rows parent[r] of (., D), or `from` itself where all rows stay where they were. */
static const float *gathered(const float *from, const jm_rows *rows, int64_t D, float *to)
{
    int32_t same = 0;
    while (same < rows->count && rows->parent[same] == same) {
        same++;
    }
    if (same == rows->count) {
        return from;
    }
    for (int64_t r = 0; r < rows->count; r++) {
        memcpy(to + r * D, from + rows->parent[r] * D, (size_t)D * sizeof(float));
    }
    return to;
}

/* The tokens' embeddings (R, D), or [y; s~] (R, 2 D) with input feeding. */
static const float *cell_input(const recurrent_state *s, const jm_rows *rows, float *y,
                               float *joined)
{
    const jm_model *model = s->model;
    const int64_t D = model->config.width;
    const float scale = model->config.embedding_scale;
    jm_embed(&model->target_embedding, rows->token, rows->count, scale, y);
    if (s->last.attentional == NULL) {
        return y;
    }
    for (int64_t r = 0; r < rows->count; r++) {
        const float *fed = s->last.attentional + rows->parent[r] * D;
        memcpy(joined + 2 * r * D, y + r * D, (size_t)D * sizeof(float));
        memcpy(joined + (2 * r + 1) * D, fed, (size_t)D * sizeof(float));
    }
    return joined;
}

static int step(void *state, const jm_rows *rows, float *features, jm_worker *worker)
{
    recurrent_state *s = state;
    const recurrent_parts *p = s->parts;
    const int64_t D = s->model->config.width, R = rows->count, G = p->gates, C = p->parts;
    if (reserve_step(s, R) != JM_OK) {
        return JM_NO_MEMORY;
    }
    const int64_t before = s->last.rows, after = s->next.rows;
    float *y = s->work, *old = y + R * D, *joined = old + R * D;
    float *given = joined + 2 * R * D, *kept = given + R * G * D;
    const float *x = cell_input(s, rows, y, joined);
    for (int32_t n = 0; n < p->layers; n++) {
        const cell_weights *cell = p->decoder + n;
        const float *last_h = s->last.hidden + n * C * before * D, *last_c = last_h + before * D;
        float *next_h = s->next.hidden + n * C * after * D, *next_c = next_h + after * D;
        const float *h = gathered(last_h, rows, D, old);
        jm_apply(worker, &cell->input, x, cell->input.columns, rows->count, given, G * D, 0);
        jm_apply(worker, &cell->hidden, h, D, rows->count, kept, G * D, 0);
        for (int64_t r = 0; r < R; r++) {
            const float *c = C == 2 ? last_c + rows->parent[r] * D : NULL;
            cell_step(s->model->config.cell, D, given + r * G * D, kept + r * G * D, h + r * D, c,
                      next_h + r * D, C == 2 ? next_c + r * D : NULL);
        }
        x = next_h;
    }
    int result = JM_OK;
    for (int64_t r = 0; r < R && s->told != NULL; r++) {
        jm_record_rows(s->model, s->told, rows->sentence[r], rows->slot[r], JM_DECODER, 0, 0,
                       rows->time, 1, x + r * D);
    }
    if (is_luong(s->model)) {
        result = attentional(s, rows, x, old, joined, features, worker);
    } else {
        memcpy(features, x, (size_t)(R * D) * sizeof(float));
    }
    for (int64_t r = 0; r < R && s->told != NULL; r++) {
        jm_record_rows(s->model, s->told, rows->sentence[r], rows->slot[r], JM_OUT, JM_CROSS, 0,
                       rows->time, 1, features + r * D);
    }
    if (s->next.attentional != NULL) {
        memcpy(s->next.attentional, features, (size_t)(R * D) * sizeof(float));
    }
    const states swap = s->last;
    s->last = s->next;
    s->next = swap;
    return result;
}

const jm_arch jm_recurrent = {build, destroy, begin, step, end};
