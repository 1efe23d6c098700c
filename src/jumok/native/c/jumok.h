/* jumok.h: the public face of the native engine. Translation on a CPU, without PyTorch.
 *
 * All functions may be called from several threads at once; a model is read only once it is made.
 */
#ifndef JUMOK_H
#define JUMOK_H

#include <stddef.h>
#include <stdint.h>

#define JM_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

enum { JM_F32 = 0, JM_I8 = 1 };                        /* types of a matrix */
enum { JM_RNN = 0, JM_LUONG = 1, JM_TRANSFORMER = 2 }; /* architectures */
enum { JM_NORM_POST = 0, JM_NORM_PRE = 1, JM_NORM_NONE = 2 };
enum { JM_SINUSOIDAL = 0, JM_LEARNED = 1, JM_ROTARY = 2, JM_NO_POSITIONS = 3, JM_RELATIVE = 4 };
enum { JM_RELU = 0, JM_GELU = 1, JM_GELU_TANH = 2, JM_SILU = 3 };
enum { JM_CELL_RNN = 0, JM_CELL_GRU = 1, JM_CELL_LSTM = 2 };
enum { JM_SCORE_DOT = 0, JM_SCORE_GENERAL = 1, JM_SCORE_CONCAT = 2 };
enum { JM_PROBABILITIES = 0, JM_LOGS = 1 }; /* what an ensemble averages */

/* What jm_search and jm_score return. */
enum {
    JM_OK = 0,
    JM_NOT_FINITE = 1, /* the numbers of sentence *bad are not finite */
    JM_PAST_TABLE = 2, /* sentence *bad needs a position past the learned table */
    JM_NO_MEMORY = 3,
    JM_BAD_ARGUMENT = 4, /* *bad: the sentence, or -1 */
    JM_NO_KEY = 5,       /* edits cut every key that a query of sentence *bad could look at */
    JM_STOPPED = 6,      /* whoever watched asked for it */
};

/* A named part of a model. A matrix W (rows N, columns K) is packed as jm_pack_f32 or jm_pack_i8 do
 * it; `scale` (int8) and `bias` (or NULL) then have N entries, and zeros up to a multiple of 16. A
 * vector is plain floats of type JM_F32: rows 1; a learned table of positions: rows P, plain floats
 * too. */
typedef struct {
    const char *name;
    int32_t type, rows, columns;
    const void *data;
    const float *scale, *bias;
} jm_tensor;

typedef struct {
    int32_t arch, width, heads, feedforward, encoder_layers, decoder_layers, source_vocab,
        target_vocab;
    int32_t norm;             /* 0 post, 1 pre, 2 none */
    int32_t residual, scaled; /* the sums around the layers; the division by sqrt(d_k) */
    int32_t positions;        /* 0 sinusoidal, 1 learned, 2 rotary, 3 none, 4 relative */
    int32_t max_positions;    /* rows of the learned tables */
    int32_t cell;             /* 0 rnn, 1 gru, 2 lstm */
    int32_t bidirectional;
    int32_t score; /* of attention: 0 dot, 1 general, 2 concat */
    int32_t input_feeding;
    int32_t activation;     /* of the feed-forward network: 0 relu, 1 gelu, 2 gelu_tanh, 3 silu */
    int32_t gated;          /* it is multiplied by a second product of its input */
    int32_t rms_norm;       /* norms have no mean to take off and no bias */
    int32_t head_width;     /* of one head of attention */
    int32_t embedding_norm; /* embeddings with their positions go through a norm */
    int32_t logits_bias;    /* the output has a bias */
    int32_t buckets, max_distance; /* of relative positions */
    float norm_epsilon, embedding_scale;
} jm_config;

typedef struct jm_model jm_model;

/* What is asked of a phrase. */
enum {
    JM_ONCE = 1, /* exactly once, else at least once */
    JM_SOFT = 2, /* wanted, not required */
    JM_WORD = 4, /* counts only where a word begins */
    JM_MOST_PHRASES = 64,
};

/* Phrases that answers must contain, each in any of its spellings, and texts that they must not.
 * Offsets begin with 0 and have one entry more than what they count. */
typedef struct {
    int64_t phrase_count, spelling_count, text_count;
    const int64_t *first;     /* the phrases of each sentence, at most JM_MOST_PHRASES */
    const int32_t *flags;     /* of each phrase */
    const int64_t *spellings; /* of each phrase, at least one */
    const int32_t *ids;       /* the tokens of each spelling; none: it counts, but is not begun */
    const int64_t *id_offsets;
    const int32_t *text_of; /* what each spelling writes: one of the texts */
    const uint8_t *texts;   /* UTF-8, all different, none empty */
    const int64_t *text_offsets;
    const uint8_t *pieces; /* what each target id writes */
    const int64_t *piece_offsets;
    const int32_t *widths; /* how many hypotheses of each sentence are kept, <= beam */
    int32_t enough;        /* with so many answers that lack nothing a search ends */
    int32_t bans;          /* the first of the texts, which no answer may contain */
    double soft;           /* nats that an answer loses for each soft phrase that it lacks */
} jm_phrases;

/* ---- looking inside: what-if edits, recordings, the tree of a search ---- */

enum { JM_ENC_SELF = 0, JM_DEC_SELF = 1, JM_CROSS = 2 }; /* kinds of attention */

/* What is changed in one attention layer. Heads, queries and keys count from 0; a query or key of
 * the target is its time, one of the source its place. What the model or a sentence does not have
 * does nothing. `cut` and `cell` are triples (head, query, key), ascending, each once. */
typedef struct {
    int32_t kind, layer;
    int32_t no_scale;       /* scores are not divided by sqrt(d_k) */
    const float *factors;   /* (heads) what the context of each is multiplied by, or NULL */
    const uint8_t *uniform; /* (heads) 1: all keys in sight get the same weight; or NULL */
    int32_t cuts, cells;
    const int32_t *cut;  /* (cuts, 3) -inf before the softmax */
    const int32_t *cell; /* (cells, 3) rows that are set after the softmax, by their keys; */
    const float *weight; /* (cells) those in sight are made to sum to 1; none: the row stays */
} jm_attention_edit;

/* All that a what-if changes inside a model; zeros: nothing. It holds for every sentence. */
typedef struct {
    int32_t count; /* at most one for each kind and layer */
    const jm_attention_edit *attention;
    int32_t no_source_positions, no_target_positions; /* nothing is added, turned or told apart */
    const int32_t *source_positions; /* of each source token, they stand like batch->ids; or NULL */
    const int32_t *target_positions; /* (target_count) of each time; or NULL */
    int32_t target_count;            /* at least the largest limit, or the longest target */
    const float *bridge; /* (N, C, D) recurrent: the decoder starts from this; or NULL */
} jm_edits;

/* What a recording keeps. */
enum { JM_KEEP_STEPS = 1, JM_KEEP_WEIGHTS = 2, JM_KEEP_STATES = 4 };
enum { JM_RECORD_TOP = 5 }; /* candidates of each step, or as many as there are pieces */

/* The parts of a recording. S source tokens, T = the room for target tokens (the limit of a search,
 * the length of a target); Q x K is S x S, T x T or T x S by the kind; d one head's width; N layers,
 * C parts of a cell's state (two of an LSTM). Rows of a search that ended early stay untouched. */
enum {
    JM_LOG_PROB = 0,     /* (T) of the token that was written, over the whole vocabulary */
    JM_ENTROPY = 1,      /* (T) of the distribution, in nats */
    JM_TOP_LOG_PROB = 2, /* (T, 5) of the best pieces, best first, equal ones: lower id first */
    JM_TOP_ID = 3,       /* (T, 5) int32_t; -1: there are fewer */
    JM_ENCODER = 4,      /* (S, D) recurrent: the states of the top layer */
    JM_DECODER = 5,      /* (T, D) */
    JM_BRIDGE = 6,       /* (N, C, D) where the decoder starts */
    JM_WEIGHTS = 7,      /* (H, Q, K) of one attention, and its other stages: */
    JM_QUERY = 8,        /* (H, Q, d) */
    JM_KEY = 9,          /* (H, K, d) */
    JM_VALUE = 10,       /* (H, K, d) */
    JM_SCORES = 11,      /* (H, Q, K) */
    JM_SCALED = 12,      /* (H, Q, K) */
    JM_BIAS = 13,        /* (H, Q, K) of relative positions */
    JM_MASK = 14,        /* (H, Q, K) 1 where looking is allowed, else 0 */
    JM_CONTEXT = 15,     /* (H, Q, d) */
    JM_OUT = 16,         /* (Q, D) all heads joined and projected; Luong: the attentional state */
    JM_RECORD_END = 17,  /* behind all of them: the size of a sentence's recording */
};

/* What the model computes for each sentence. Memory is the caller's: the numbers of sentence i stand
 * at data + places[i], jm_record_at(..., JM_RECORD_END, 0, 0) of 4 bytes each. jm_search takes one
 * without shortlists and phrases, and a beam records its best answer: without stages, and with so many
 * numbers for each of its hypotheses while it searches. jm_score takes any; no ensemble has one. */
typedef struct {
    int32_t keep;          /* JM_KEEP_... */
    const uint8_t *stages; /* 1 for each attention whose stages are kept: those of JM_ENC_SELF layer by
                              layer, then JM_DEC_SELF, then JM_CROSS (jm_attentions in all); or NULL */
    float *data;
    const int64_t *places; /* (count) */
} jm_recording;

/* The steps of the beam search of one sentence, at most `room` ways on in all; `count` is what there
 * were. A way: the step, the live hypothesis it goes on from (0: the best), the token and its log P;
 * `place` among the hypotheses that live on, -1: rejected, -2: an end that is an answer. Those of one
 * hypothesis stand together, best first. A step has at most rows * max(2 beam, beam + 4) ways, with
 * phrases more. */
typedef struct {
    int64_t room, count;
    int32_t *step, *row, *token, *place; /* (room) */
    float *log_prob;
} jm_tree;

/* Answers drawn at random: options->beam of each sentence, best first, as `draw` in
 * decoding/greedy.py picks each token. Draw d of sentence i takes, at time t, the random number
 * uniforms[places[i] + d * limits[i] + t], from 0 to 1 (without 1). Recordings and trees are of
 * beams. Phrases that are missing are written where the model would end, or where there is no more
 * room than they need; soft ones are left to chance. */
typedef struct {
    double temperature, top_p; /* above 0; top_p 1: all */
    int32_t top_k;             /* 0: all */
    const double *uniforms;
    const int64_t *places; /* (count) */
} jm_draws;

/* How far the search of one sentence has come: `Lead` in answers.py. */
typedef struct {
    int32_t count, stable; /* tokens of the hypothesis that is best now, without the end */
    int32_t live;          /* hypotheses that go on; 0: the search is over */
    const int32_t *ids;
    double score;
} jm_lead;

/* Called after each step, in a thread of the search; it ends with JM_STOPPED if this is not 0. */
typedef struct {
    int32_t (*step)(void *who, const jm_lead *lead);
    void *who;
    int32_t any; /* 1: any answer may be chosen in the end, so only what all of them share is stable */
} jm_watch;

/* Sources end to end, each with its end. `offsets` has count + 1 entries. */
typedef struct {
    int32_t count;
    const int32_t *ids;
    const int64_t *offsets;
    const int32_t *limits; /* most tokens of each answer, its end included */
    const int32_t *prefix; /* forced first tokens, or NULL */
    const int64_t *prefix_offsets;
    const int32_t *shortlist; /* the target ids each sentence may use, ascending, or NULL: */
    const int64_t *shortlist_offsets; /* log P is then over these */
    const jm_phrases *phrases;        /* or NULL */
    const jm_edits *edits;            /* or NULL */
    jm_recording *recording;          /* or NULL */
    jm_tree *tree;                    /* or NULL; of a batch of one sentence */
    const jm_draws *draws;            /* or NULL: a beam */
    const jm_watch *watch;            /* or NULL; of a batch of one sentence */
} jm_batch;

typedef struct {
    int32_t beam;
    int32_t n_best;  /* the search goes on for so many answers */
    int32_t keep;    /* answers written per sentence, <= beam */
    int32_t min_len; /* no end before so many tokens */
    int32_t threads;
    int32_t rows; /* most hypotheses of one sub-batch, 0: chosen here */
    double length_penalty;
    int32_t align;      /* 0: not asked for; n: by layer n of the decoder, the first is 1 */
    int32_t align_head; /* the first is 1; 0: the mean of the layer's heads */
    int32_t align_after; /* it looks for a token in the step that reads it, not in that which writes
                            it; for the last one of an answer without an end all the same */
    int32_t align_before; /* so many first tokens of each source are no words, such as tags */
    int32_t align_behind; /* and so many of the last ones besides the end; -1: there is no end */
} jm_options;

/* Answer a of sentence i, best first: its tokens and log_probs stand at
 * sum of keep * limits[j] over j < i, plus a * limits[i]. lengths[i * keep + a] counts the
 * log_probs; the end is one of them if finished[i * keep + a], and its token is written too. Length
 * -1: there is no such answer. With options->align, `places` and `looks` stand like the log_probs:
 * the source token, never its end, that the aligning head looked at most, and with which weight. */
typedef struct {
    int32_t *tokens;
    float *log_probs;
    int32_t *lengths;
    int32_t *finished;
    int32_t *places; /* or NULL, if not asked for */
    float *looks;
} jm_answers;

JM_API const char *jm_version(void);
JM_API int jm_level(void); /* which instructions the kernels use: JM_PORTABLE ... of kernels.h */
JM_API int jm_set_level(int level); /* 0; -1: this CPU or this build does not have them */
JM_API int jm_levels(void);         /* bit mask of what can be set */

/* Bytes of a packed matrix. */
JM_API size_t jm_packed_f32(int32_t rows, int32_t columns);
JM_API size_t jm_packed_i8(int32_t rows, int32_t columns);

/* w (rows, columns) -> packed. 0; -1: a number that is not finite. `scale` has room for a multiple
 * of 16. */
JM_API int jm_pack_f32(const float *w, int32_t rows, int32_t columns, float *out);
JM_API int jm_pack_i8(const float *w, int32_t rows, int32_t columns, uint8_t *codes, float *scale);
JM_API int jm_unpack_i8(const uint8_t *codes, const float *scale, int32_t rows, int32_t columns,
                        float *out);

/* A model of these parts. It keeps the pointers, the caller the memory, until jm_model_free.
 * NULL, and one line in `error`, if a part is missing, unknown or has another shape or type. */
JM_API jm_model *jm_model_new(const jm_config *config, const jm_tensor *tensors, int32_t count,
                              char *error, int32_t size);
JM_API void jm_model_free(jm_model *model);

/* An ensemble: models with the same vocabularies that predict together, with these weights, whose
 * sum is 1. It keeps the pointers to the models, which must outlive it. NULL: they do not fit
 * together, or there is no memory. It takes no shortlists, and the first model aligns. */
JM_API jm_model *jm_model_join(const jm_model *const *models, const float *weights, int32_t count,
                               int32_t mean);

/* The best answers to each sentence. An answer does not depend on the other sentences, nor on the
 * threads. */
JM_API int jm_search(const jm_model *model, const jm_batch *batch, const jm_options *options,
                     jm_answers *answers, int32_t *bad);

/* log P of each target token, given the source and the tokens before. Each target ends with its
 * end; log_probs stand like the targets. batch->limits, prefix and shortlist are not read. */
JM_API int jm_score(const jm_model *model, const jm_batch *batch, const int32_t *targets,
                    const int64_t *target_offsets, int32_t threads, float *log_probs, int32_t *bad);

/* Where a part of a sentence's recording begins, in numbers from its place; -1: it is not kept, or
 * the model has no such attention. `kind` and `layer` are read from JM_WEIGHTS to JM_OUT. Its memory
 * is bounded by S, T and the model: 4 bytes for every number of the shapes above. */
JM_API int64_t jm_record_at(const jm_model *model, const jm_recording *recording, int32_t S, int32_t T,
                            int32_t part, int32_t kind, int32_t layer);
JM_API int32_t jm_attentions(const jm_model *model); /* attention layers of all kinds */

#ifdef __cplusplus
}
#endif

#endif
