/* search.h: the parts of a search. Not public. Letters as in engine.h. */
#ifndef JM_SEARCH_H
#define JM_SEARCH_H

#include "engine.h"

/* ---- filter.c: which pieces may come next ---- */

enum { JM_STATES = 8, JM_ROOMS = 5, JM_STRIPE = 512 };

/* What may come next depends on a small state: how many bytes of a character are still to come, and
 * which may come first. State 0 is between two characters. */
typedef struct {
    uint8_t next[JM_STATES][JM_LEARNED_ID];
    uint8_t usual[JM_STATES][JM_ROOMS]
                 [JM_LEARNED_ID]; /* 1: this id may come, with so much room left */
    uint8_t mask[JM_STATES][JM_ROOMS][2]
                [JM_STRIPE];                 /* of a whole vocabulary; [1]: and it may not end */
    uint8_t learned[JM_STATES][JM_ROOMS][2]; /* whether ids that are no bytes may come */
} jm_filter;

void jm_filter_make(jm_filter *f, int32_t vocab);
int32_t jm_filter_room(int32_t room);
int32_t jm_filter_after(const jm_filter *f, int32_t state, int32_t token);

/* mask[j] for the first n ids of a list, all below JM_LEARNED_ID; more: the list has learned ids
 * too. Returns whether those may come. A filter that would leave nothing leaves all. */
int jm_filter_list(const jm_filter *f, int32_t state, int32_t room, int no_end, const int32_t *ids,
                   int32_t n, int more, uint8_t *mask);

/* ---- phrases.c: what answers must contain ---- */

/* The phrases of a batch, and for each place of a text that may not come (again) the tokens that
 * would write the rest of it. How far a hypothesis has come is `stride` bytes, zeros at first. */
typedef struct {
    const jm_phrases *phrases;
    int32_t vocab, most_tokens, most_bytes, longest_piece;
    int32_t most_wanted; /* tokens that one hypothesis may want */
    size_t stride;
    int64_t *offsets;
    int32_t *ids;
} jm_phrasing;

typedef void (*jm_tell)(void *who, const int32_t *ids, int32_t count);

int jm_are_phrases(const jm_phrases *p, int32_t count, int32_t vocab, int32_t beam);
/* Of a batch of `count` sentences; 0, or -1: no memory. */
int jm_phrasing_make(jm_phrasing *g, const jm_phrases *p, int32_t count, int32_t vocab);
void jm_phrasing_free(jm_phrasing *g);

/* `sentence` is its number in the batch. Scratch: most_bytes + longest_piece. */
void jm_progress_after(const jm_phrasing *g, int32_t sentence, const void *from, int32_t token,
                       void *to, uint8_t *scratch);
int32_t jm_phrases_wanted(const jm_phrasing *g, int32_t sentence, const void *at, int32_t *ids);
int32_t jm_phrases_bank(const jm_phrasing *g, int32_t sentence, const void *at);
int32_t jm_phrases_size(const jm_phrasing *g, int32_t sentence);
int jm_phrases_may_end(const jm_phrasing *g, int32_t sentence, const void *at);
int32_t jm_phrases_lacking(const jm_phrasing *g, int32_t sentence, const void *at); /* soft ones */
/* The ids that would complete a banned text; and a phrase that may come only once, again. */
void jm_texts_banned(const jm_phrasing *g, const void *at, jm_tell tell, void *who);
void jm_phrases_banned(const jm_phrasing *g, int32_t sentence, const void *at, jm_tell tell,
                       void *who);
/* How the first missing phrase is written when it is not left to a beam: its next token, how many of
 * its tokens stand already, and how many tokens all that are missing have. -1: none is missing. */
int32_t jm_phrases_next(const jm_phrasing *g, int32_t sentence, const void *at, int32_t *begun,
                        int64_t *needed);

/* ---- draws.c: pieces at random ---- */

int jm_are_draws(const jm_draws *d, const jm_batch *batch, int32_t beam);

/* `draw` of decoding/greedy.py: of n pieces, those with log P -INFINITY excepted, one for each of
 * `count` random numbers, `stride` apart. 0, or -1: there is none. Room for n `order` and `sums`. */
int jm_draw(const jm_draws *d, const float *log_probs, int32_t n, const double *uniforms,
            int64_t stride, int32_t count, int32_t *order, double *sums, int32_t *drawn);

/* ---- project.c: from features to the best pieces ---- */

/* The ids that a sentence may use, and where the logit of each stands: those that many sentences
 * use come first, then those of `own`, which are computed for this sentence alone. */
typedef struct {
    const int32_t *ids, *places;
    int32_t count, bytes; /* bytes: how many of them are below JM_LEARNED_ID */
    jm_matrix own;
} jm_list;

/* No id; and none either, and nothing that phrases ask holds then. */
enum { JM_NO_ID = -1, JM_LET_GO = -2 };

/* What is asked for one row, and what was found: the `found` best allowed pieces, best first. */
typedef struct {
    int32_t state, room, no_end;
    int32_t forced;      /* only this id is asked for; -1: none */
    const jm_list *list; /* NULL: the whole vocabulary */
    const int32_t *banned, *wanted; /* ids that may not come; ids whose log P is asked for too */
    int32_t bans, wants;
    float *wanted_values; /* (wants) -INFINITY: it may not come */
    const double *uniforms; /* with draws: (draws), `stride` apart: as many pieces are drawn */
    int64_t stride;
    int32_t draws;
    int32_t at_end; /* only this id is asked for if the model would end here; or one of: */
    int32_t texts;  /* with JM_LET_GO: the first so many bans, and whether it may not end yet, hold */
    int32_t early;
    int32_t ends; /* found: whether it would end */
    int32_t found;
    float *values; /* log P */
    int32_t *ids;
} jm_pick;

typedef struct {
    const jm_filter *filter;
    jm_matrix matrix; /* V x D, or the rows that many shortlists have */
    const jm_members *members; /* of an ensemble, which have matrices of their own, or NULL */
    int32_t own;      /* the most rows that a shortlist has besides */
    int32_t k;        /* pieces that are asked for of each row */
    int32_t groups;   /* tasks that the stripes of the vocabulary are shared out in */
    int32_t most;     /* rows there is room for */
    float *max, *sum; /* (stripes, R) of each stripe */
    float *forced;    /* (R) logits */
    int32_t *found;   /* (groups, R) */
    float *values;    /* (groups, R, k) */
    int32_t *ids;
    int8_t *codes;
    float *scale;
    int32_t *sums;
    const jm_draws *draws; /* pieces are drawn, or NULL: the best are found */
    int32_t tells;      /* what each row thinks is noted too, for jm_opinion: */
    float *spread;      /* (stripes, R) */
    int32_t *best_found, *best_ids; /* (groups, R), (groups, R, JM_RECORD_TOP) */
    float *best_values;
    float *logits; /* of shortlists (LIST_ROWS, matrix.rows + own), of members (count, LIST_ROWS, V) */
    void *memory;
} jm_projection;

/* Room for so many rows; 0, or -1: no memory. `matrix` and `filter` have been set; list: it is a
 * shortlist. */
int jm_projection_make(jm_projection *p, int32_t rows, int32_t k, int list, int shared);
void jm_projection_free(jm_projection *p);

/* Fill picks (R) from features (R, D). The row whose numbers are not finite, or -1. */
int32_t jm_project(jm_projection *p, const float *features, int32_t R, jm_pick *picks,
                   jm_worker *worker);

/* What row r of R thought, with `tells`: its entropy in nats, its JM_RECORD_TOP best pieces. */
void jm_opinion(const jm_projection *p, int32_t R, int32_t r, float *entropy, float *log_probs,
                int32_t *ids);

/* ---- search.c: the beams of one sub-batch ---- */

/* A search of many sentences; the answers of sentence i stand at places[i]. */
typedef struct {
    const jm_model *model;
    const jm_batch *batch;
    const jm_options *options;
    jm_answers *answers;
    const int64_t *places;
    const jm_filter *filter;
    const jm_phrasing *phrasing; /* or NULL */
    const int32_t *targets; /* to be scored instead */
    const int64_t *target_offsets;
    float *log_probs;
} jm_plan;

/* Sentences order[0..count) of the batch; JM_OK or what went wrong, and with which sentence. */
int jm_search_some(const jm_plan *plan, const int32_t *order, int32_t count, jm_worker *worker,
                   int32_t *bad);
int jm_score_some(const jm_plan *plan, const int32_t *order, int32_t count, jm_worker *worker,
                  int32_t *bad);

#endif
