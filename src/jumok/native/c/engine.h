/* engine.h: what the parts of the engine know of each other. Not public.
 *
 * The search (search.c) is one code for all architectures: an architecture reads sources (`begin`)
 * and makes features of one more token of each live hypothesis (`step`). Logits are features *
 * output^T, always.
 *
 * Letters: B sentences of a sub-batch, R rows (live hypotheses), W beam, D width, V vocabulary, t
 * time.
 */
#ifndef JM_ENGINE_H
#define JM_ENGINE_H

#include "jumok.h"
#include "kernels.h"

enum { JM_BOS = 0, JM_PAD = 1, JM_EOS = 2, JM_UNK = 3, JM_FIRST_BYTE = 4, JM_LEARNED_ID = 260 };

/* ---- pool.c: threads ---- */

typedef struct jm_team jm_team;

/* Who computes: the scratch memory of this thread, and the others that may help with a matrix. */
typedef struct {
    jm_scratch scratch, quantised;
    jm_team *team; /* NULL: works alone */
    int failed;    /* there was no memory; a step goes on and its caller looks here */
    int32_t blind; /* 1 + the sentence of the sub-batch whose keys edits cut all; 0: none */
} jm_worker;

typedef void (*jm_task)(void *argument, int32_t number, jm_scratch *scratch);

/* task(argument, i, scratch) for all i < count, each once, on up to `threads` threads: the caller
 * and helpers that are free. Returns when all are done. Never waits for a helper that has not
 * begun. */
void jm_parallel(int32_t threads, int32_t count, jm_task task, void *argument, jm_scratch *scratch);

/* The same inside a search: the helpers of the worker's team take part, if there are any. */
void jm_share(jm_worker *worker, int32_t count, jm_task task, void *argument);

/* Helpers for one search, NULL: none. Around each step: helps or not, whichever was quicker lately.
 */
jm_team *jm_team_new(int32_t threads);
void jm_team_free(jm_team *team);
void jm_step_begins(jm_worker *worker);
void jm_step_ends(jm_worker *worker);

/* y = act(x W^T + b) as jm_linear; helpers of the worker take blocks of outputs. Use this for all
 * matrices. */
void jm_apply(jm_worker *worker, const jm_matrix *w, const float *x, int64_t ldx, int32_t R,
              float *y, int64_t ldy, int32_t relu);

/* ---- model.c: parts by name ---- */

typedef struct jm_arch jm_arch;

/* The models of an ensemble; the sum of their weights is 1. */
enum { JM_MOST_MEMBERS = 64 };
typedef struct {
    int32_t count, mean;
    const jm_model **models;
    float *weights;
} jm_members;

struct jm_model {
    jm_config config;
    const jm_arch *arch;
    jm_matrix source_embedding, target_embedding, output; /* output: V x D */
    void *parts;                                          /* the architecture's own, from `build` */
    jm_members *members; /* of an ensemble (ensemble.c), else NULL */
};

typedef struct {
    const jm_tensor *tensors;
    int32_t count;
    unsigned char *used;
    char *error;
    int32_t size; /* of `error` */
    int failed;
} jm_builder;

/* The first of these writes what is wrong into the builder and the others then do nothing: check
 * builder->failed once at the end. `name` is a printf format with up to two numbers. bias: 1 it
 * must be there, 0 it must not. */
void jm_find_matrix(jm_builder *b, jm_matrix *out, int32_t rows, int32_t columns, int bias,
                    const char *name, ...) __attribute__((format(printf, 6, 7)));
void jm_find_vector(jm_builder *b, const float **out, int32_t rows, int32_t columns,
                    const char *name, ...) __attribute__((format(printf, 5, 6)));
void jm_fail(jm_builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- architectures ---- */

/* Someone looks inside a sub-batch, or changes what is computed there. */
typedef struct {
    const jm_edits *edits;         /* or NULL */
    const jm_recording *recording; /* or NULL */
    const int32_t *numbers;        /* (B) of the sentences in the batch */
    const int32_t *positions;      /* of each source token, or NULL: its place */
    float *slots; /* of a beam: a recording for each slot of each sentence; NULL: there is no beam */
    const int64_t *slot_places, *slot_sizes; /* (B) where those of a sentence begin; numbers of one */
} jm_probe;

/* The sources of a sub-batch end to end, and the most tokens of each answer. */
typedef struct {
    int32_t count; /* B */
    const int32_t *ids;
    const int64_t *offsets; /* B + 1, the first is 0 */
    const int32_t *limits;
    const jm_probe *probe; /* NULL: no one looks */
} jm_sources;

/* Where the aligning head looks in a step: of each row the place of a source token, and the weight.
 */
typedef struct {
    int32_t layer, head; /* head -1: the mean of the layer's */
    int32_t before, behind; /* tokens that are nobody's words: at the beginning, and besides the end */
    int32_t *place;
    float *weight;
} jm_look;

/* The live hypotheses of one step; those of one sentence stand together, sentences in order. All of
 * them have `time` tokens, so `token` stands at position `time` (and is BOS at time 0). */
typedef struct {
    int32_t count; /* R <= B * W */
    int32_t time;
    const int32_t *token;    /* (R) the last token of each */
    const int32_t *sentence; /* (R) < B */
    const int32_t *slot;     /* (R) < W, its own in the sentence: where it keeps what it adds */
    const int32_t *parent;   /* (R) the row before that it grows from; at time 0 its sentence */
    const int32_t *ancestor; /* (R, stride) slots of its ancestors by time, at [time] its own */
    int64_t stride;
    const jm_look *look; /* filled in by the step, or NULL: no one asks */
} jm_rows;

struct jm_arch {
    /* Find the parts: fill model->parts. Errors go to the builder. source_embedding,
     * target_embedding and output have been found already. */
    void (*build)(jm_model *model, jm_builder *b);
    void (*destroy)(jm_model *model);
    /* Read the sources; `width` is W. JM_OK and *state, JM_NO_MEMORY, or JM_PAST_TABLE and *bad.
     * Reserves all that steps need, but for what grows with time. */
    int (*begin)(const jm_model *model, const jm_sources *sources, int32_t width, jm_worker *worker,
                 void **state, int32_t *bad);
    /* features (R, D) of the rows: what the output matrix is applied to. JM_OK, JM_NO_MEMORY, or
     * JM_PAST_TABLE: no position `time`. Rows of the step before that no row grows from are gone
     * for good. */
    int (*step)(void *state, const jm_rows *rows, float *features, jm_worker *worker);
    void (*end)(void *state);
};

/* ---- look.c: where a head looks ---- */

/* Rows row..row + Q of a step, whose queries (heads of `size` floats end to end) see the same keys;
 * 0, or -1: no memory. And one row whose weights are there already, times `share`. */
int jm_look_at(const jm_look *look, int32_t row, const float *query, int64_t ldq, int32_t Q,
               int32_t heads, int32_t size, float scale, const jm_memory *memory, jm_scratch *s);
void jm_look_best(const jm_look *look, int32_t row, const float *weight, int32_t n, float share);

/* ---- record.c: attention that is seen and changed ---- */

/* One attention of Q queries of one sentence, stage by stage. */
typedef struct {
    const jm_model *model;
    const jm_sources *sources; /* with a probe */
    int32_t sentence, slot;    /* of the sub-batch; as in jm_record_of */
    int32_t kind, layer;
    int32_t first, Q;          /* the position of the first query, and how many there are */
    const float *query;        /* heads end to end */
    int64_t ldq;
    jm_memory memory; /* floats */
    float scale;
    const float *bias;  /* (H, Q, ldb), or NULL */
    int64_t ldb;
    const float *v;     /* score = v . tanh(query + key), or NULL: query . key */
    const jm_look *look; /* filled in from row `row` on, or NULL */
    int32_t row;
    float *out; /* contexts, heads end to end */
    int64_t ldo;
} jm_seen;

/* JM_OK, JM_NO_MEMORY or JM_NO_KEY. */
int jm_attend_seen(const jm_seen *a, jm_scratch *s);

/* Whether attention goes the way of record.c: it is changed, or its stages are kept. */
int jm_is_explicit(const jm_probe *probe);

/* Where a part of a sentence's recording is written to; NULL: it is not kept. `slot`: of the row that
 * writes, in a beam a recording of its own; -1: the sentence's. */
float *jm_record_of(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t slot,
                    int32_t part, int32_t kind, int32_t layer);
/* Q rows of D floats, from row `first` of a part on. */
void jm_record_rows(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t slot,
                    int32_t part, int32_t kind, int32_t layer, int32_t first, int32_t Q,
                    const float *rows);
/* Lets jm_attend write the weights of the queries from `first` on: of a source those that follow one
 * another, of a step those of the slots from `slot` on. */
void jm_record_weights(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t slot,
                       int32_t kind, int32_t layer, int32_t first, jm_memory *memory);
/* Step t of the sentence's recording is that of this slot. */
void jm_record_step(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t slot,
                    int32_t t, float log_prob);
/* What needs all T steps of a sentence: the keys that no query may look at. */
void jm_record_close(const jm_model *model, const jm_sources *sources, int32_t sentence, int32_t T);

int jm_are_edits(const jm_model *model, const jm_edits *edits, const jm_batch *batch, int64_t longest);
int jm_is_recording(const jm_model *model, const jm_batch *batch);
float jm_score_scale(const jm_config *c); /* 1 / sqrt(d_k), or 1 */
void jm_round_half(float *x, int64_t n);  /* to the nearest bfloat16 */

/* The position of time t, or of place t of a sentence's source. -1: it has none. */
int32_t jm_target_position(const jm_probe *probe, int32_t t);
int32_t jm_source_position(const jm_sources *sources, int32_t sentence, int32_t t);

extern const jm_arch jm_transformer; /* transformer.c */
extern const jm_arch jm_recurrent;   /* recurrent.c: JM_RNN and JM_LUONG */

/* Memory on a 64-byte boundary, or NULL. */
void *jm_allocate(size_t bytes);
void jm_release(void *memory);

#endif
