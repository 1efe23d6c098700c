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
enum { JM_SINUSOIDAL = 0, JM_LEARNED = 1, JM_ROTARY = 2, JM_NO_POSITIONS = 3 };
enum { JM_CELL_RNN = 0, JM_CELL_GRU = 1, JM_CELL_LSTM = 2 };
enum { JM_SCORE_DOT = 0, JM_SCORE_GENERAL = 1, JM_SCORE_CONCAT = 2 };

/* What jm_search and jm_score return. */
enum {
    JM_OK = 0,
    JM_NOT_FINITE = 1, /* the numbers of sentence *bad are not finite */
    JM_PAST_TABLE = 2, /* sentence *bad needs a position past the learned table */
    JM_NO_MEMORY = 3,
    JM_BAD_ARGUMENT = 4, /* *bad: the sentence, or -1 */
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
    int32_t positions;        /* 0 sinusoidal, 1 learned, 2 rotary, 3 none */
    int32_t max_positions;    /* rows of the learned tables */
    int32_t cell;             /* 0 rnn, 1 gru, 2 lstm */
    int32_t bidirectional;
    int32_t score; /* of attention: 0 dot, 1 general, 2 concat */
    int32_t input_feeding;
    float embedding_scale;
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
    int32_t enough;        /* with so many answers a search ends */
    int32_t bans;          /* the first of the texts, which no answer may contain */
    double soft;           /* nats that an answer gains for each soft phrase in it */
} jm_phrases;

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

/* The best answers to each sentence. An answer does not depend on the other sentences, nor on the
 * threads. */
JM_API int jm_search(const jm_model *model, const jm_batch *batch, const jm_options *options,
                     jm_answers *answers, int32_t *bad);

/* log P of each target token, given the source and the tokens before. Each target ends with its
 * end; log_probs stand like the targets. batch->limits, prefix and shortlist are not read. */
JM_API int jm_score(const jm_model *model, const jm_batch *batch, const int32_t *targets,
                    const int64_t *target_offsets, int32_t threads, float *log_probs, int32_t *bad);

#ifdef __cplusplus
}
#endif

#endif
