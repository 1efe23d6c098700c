/* jm_search and jm_score: check what was given, cut it into sub-batches, share these out between
 * threads. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "search.h"

enum {
    GREEDY_ROWS = 64, /* hypotheses of one sub-batch: enough to read each matrix seldom */
    BEAM_ROWS = 128,
    MOST_PLACES = 1 << 15, /* rows times tokens: what the caches of a sub-batch may grow to */
    INTER_ROWS = 8, /* with so many rows for each thread sentences are shared out, not matrices */
    MOST_BEAM = 1 << 16,
};

/* ---- arguments ---- */

/* Whether `count` sequences are well formed: each with at least `least` ids, all in 0..vocab. */
static int are_ids(const int32_t *ids, const int64_t *offsets, int32_t count, int64_t least,
                   int32_t vocab, int32_t *bad) {
    if (!offsets || (!ids && offsets[count] > offsets[0]) || offsets[0] < 0) return 0;
    for (int32_t i = 0; i < count; i++) { /* first where they stand, then what stands there */
        *bad = i;
        if (offsets[i + 1] < offsets[i] || offsets[i + 1] - offsets[i] < least ||
            offsets[i + 1] - offsets[i] > INT32_MAX / 4)
            return 0;
    }
    for (int32_t i = 0; i < count; i++) {
        *bad = i;
        for (int64_t j = offsets[i]; j < offsets[i + 1]; j++)
            if (ids[j] < 0 || ids[j] >= vocab) return 0;
    }
    *bad = -1;
    return 1;
}

static int is_shortlist(const jm_batch *batch, int32_t vocab, int32_t *bad) {
    if (!are_ids(batch->shortlist, batch->shortlist_offsets, batch->count, 1, vocab, bad)) return 0;
    for (int32_t i = 0; i < batch->count; i++) {
        *bad = i;
        for (int64_t j = batch->shortlist_offsets[i] + 1; j < batch->shortlist_offsets[i + 1]; j++)
            if (batch->shortlist[j] <= batch->shortlist[j - 1]) return 0;
    }
    *bad = -1;
    return 1;
}

static int are_options(const jm_options *o) {
    return o && o->beam >= 1 && o->beam <= MOST_BEAM && o->n_best >= 1 && o->keep >= 1 &&
           o->keep <= o->beam && o->min_len >= 0 && o->threads >= 1 && o->rows >= 0 &&
           isfinite(o->length_penalty);
}

/* Whether the model has the head that is to align. */
static int has_head(const jm_config *c, const jm_options *o, const jm_answers *answers) {
    if (o->align == 0) return 1;
    const int32_t layers = c->arch == JM_TRANSFORMER ? c->decoder_layers : c->arch == JM_LUONG;
    const int32_t heads = c->arch == JM_TRANSFORMER ? c->heads : 1;
    return o->align_before >= 0 && o->align_behind >= -1 && o->align > 0 && o->align <= layers && o->align_head >= 0 && o->align_head <= heads &&
           answers->places && answers->looks;
}

/* Whether someone who looks inside says well what at; targets of `offsets`, or up to the limits. */
static int is_seen(const jm_model *model, const jm_batch *batch, const int64_t *offsets) {
    int64_t longest = 0;
    for (int32_t i = 0; i < batch->count; i++) {
        const int64_t n = offsets ? offsets[i + 1] - offsets[i] : batch->limits[i];
        if (n > longest) longest = n;
    }
    return jm_are_edits(model, batch->edits, batch, longest) && jm_is_recording(model, batch);
}

static int is_batch(const jm_model *model, const jm_batch *batch, int32_t beam, int32_t *bad) {
    const int32_t V = model->config.target_vocab;
    if (!batch->limits) return 0;
    for (int32_t i = 0; i < batch->count; i++) {
        *bad = i;
        if (batch->limits[i] < 1 || batch->limits[i] > INT32_MAX / 4) return 0;
    }
    *bad = -1;
    if (batch->prefix && !are_ids(batch->prefix, batch->prefix_offsets, batch->count, 0, V, bad))
        return 0;
    if (batch->phrases && !jm_are_phrases(batch->phrases, batch->count, V, beam)) return 0;
    if (batch->recording && (batch->shortlist || batch->phrases)) return 0;
    if (batch->recording && batch->recording->stages && beam > 1) return 0;
    if (batch->draws && (batch->recording || batch->tree || !jm_are_draws(batch->draws, batch, beam)))
        return 0;
    if (batch->tree && (batch->count != 1 || batch->recording)) return 0;
    if (batch->watch && (batch->count != 1 || !batch->watch->step)) return 0;
    return !batch->shortlist || (!model->members && is_shortlist(batch, V, bad));
}

/* ---- sub-batches ---- */

typedef struct {
    int32_t number;
    int64_t source, target; /* lengths */
} size_of;

static int longer_first(const void *one, const void *other) {
    const size_of *a = one, *b = other;
    if (a->source != b->source) return a->source < b->source ? 1 : -1;
    if (a->target != b->target) return a->target < b->target ? 1 : -1;
    return a->number < b->number ? -1 : 1;
}

typedef struct {
    jm_plan plan;
    int32_t *order, *cuts, parts; /* part i: order[cuts[i]..cuts[i + 1]) */
    jm_team *team;
    atomic_int code, bad;
} division;

/* What a sentence costs; a short one has its price too. */
static int64_t cost_of(const size_of *one) { return one->source + 8; }

/* Sentences by length, and cuts between them: at most `most` together, all parts of about the same
 * cost. */
static int divide(division *d, size_of *sizes, int32_t count, int32_t most, int32_t width,
                  int32_t threads) {
    d->order = malloc(((size_t)count + 1) * sizeof *d->order);
    d->cuts = malloc(((size_t)count + 2) * sizeof *d->cuts);
    if (!d->order || !d->cuts) return -1;
    qsort(sizes, (size_t)count, sizeof *sizes, longer_first);
    int64_t total = 0;
    for (int32_t i = 0; i < count; i++) {
        d->order[i] = sizes[i].number;
        total += cost_of(&sizes[i]);
    }
    if (most > count) most = count; /* their sum fits into 32 bits then */
    const int32_t parts = ((count + most - 1) / most + threads - 1) / threads * threads;
    int64_t cost = 0, so_far = 0, places = 0; /* of this part; of all before; of its caches */
    d->cuts[0] = 0;
    for (int32_t i = 0; i < count; i++) {
        const int32_t size = i - d->cuts[d->parts];
        const int64_t mine = width * (sizes[i].source + sizes[i].target);
        const int full = size >= most || places + mine > MOST_PLACES;
        const int even = (so_far + cost + cost_of(&sizes[i]) / 2) * parts >= total * (d->parts + 1);
        if (size > 0 && (full || even)) {
            d->cuts[++d->parts] = i;
            so_far += cost;
            cost = places = 0;
        }
        cost += cost_of(&sizes[i]);
        places += mine;
    }
    if (count > 0) d->cuts[++d->parts] = count;
    return 0;
}

static void do_part(void *argument, int32_t number, jm_scratch *scratch) {
    division *d = argument;
    const int32_t *order = d->order + d->cuts[number];
    const int32_t count = d->cuts[number + 1] - d->cuts[number];
    jm_worker worker = {.scratch = *scratch, .team = d->team};
    int32_t bad = -1;
    if (atomic_load(&d->code)) return;
    const int code = d->plan.targets ? jm_score_some(&d->plan, order, count, &worker, &bad)
                                     : jm_search_some(&d->plan, order, count, &worker, &bad);
    int none = JM_OK;
    if (code && atomic_compare_exchange_strong(&d->code, &none, code)) atomic_store(&d->bad, bad);
    *scratch = worker.scratch;
    jm_scratch_free(&worker.quantised);
}

/* All parts, on so many threads; `rows`: hypotheses of all sentences. */
static int run(division *d, size_of *sizes, int32_t count, int32_t width, int32_t rows,
               int32_t threads, int32_t *bad) {
    const int32_t most = rows / width > 1 ? rows / width : 1; /* sentences of a part */
    const int many = (int64_t)count * width >= (int64_t)INTER_ROWS * threads;
    const int inter = threads > 1 && count >= threads && (many || count / most >= threads);
    jm_scratch scratch = {0};
    *bad = -1;
    atomic_init(&d->code, JM_OK);
    atomic_init(&d->bad, -1);
    if (divide(d, sizes, count, most, width, inter ? threads : 1)) return JM_NO_MEMORY;
    if (!inter) d->team = jm_team_new(threads);
    jm_parallel(inter ? threads : 1, d->parts, do_part, d, &scratch);
    jm_team_free(d->team);
    jm_scratch_free(&scratch);
    *bad = atomic_load(&d->bad);
    return atomic_load(&d->code);
}

static size_of *sizes_of(const jm_batch *batch) {
    size_of *sizes = malloc(((size_t)batch->count + 1) * sizeof *sizes);
    for (int32_t i = 0; sizes && i < batch->count; i++)
        sizes[i] = (size_of){i, batch->offsets[i + 1] - batch->offsets[i], 0};
    return sizes;
}

int jm_search(const jm_model *model, const jm_batch *batch, const jm_options *options,
              jm_answers *answers, int32_t *bad) {
    int32_t none;
    if (!bad) bad = &none;
    *bad = -1;
    if (!model || !batch || batch->count < 0 || !are_options(options)) return JM_BAD_ARGUMENT;
    if (batch->count == 0) return JM_OK;
    if (!answers || !answers->tokens || !answers->log_probs || !answers->lengths ||
        !answers->finished || !has_head(&model->config, options, answers) ||
        !are_ids(batch->ids, batch->offsets, batch->count, 1, model->config.source_vocab, bad) ||
        !is_batch(model, batch, options->beam, bad) || !is_seen(model, batch, NULL))
        return JM_BAD_ARGUMENT;
    const int32_t W = options->beam, rows = W == 1 ? GREEDY_ROWS : BEAM_ROWS;
    size_of *sizes = sizes_of(batch);
    int64_t *places = malloc(((size_t)batch->count + 1) * sizeof *places);
    jm_filter *filter = malloc(sizeof *filter);
    jm_answers out = *answers;
    if (!options->align) out.places = NULL;
    division d = {.plan = {.model = model, .batch = batch, .options = options, .answers = &out}};
    jm_phrasing phrasing = {0};
    const jm_phrases *phrases = batch->phrases;
    int code = JM_NO_MEMORY;
    if (phrases) d.plan.phrasing = &phrasing;
    if (sizes && places && filter &&
        (!phrases ||
         !jm_phrasing_make(&phrasing, phrases, batch->count, model->config.target_vocab))) {
        places[0] = 0;
        for (int32_t i = 0; i < batch->count; i++) {
            places[i + 1] = places[i] + (int64_t)options->keep * batch->limits[i];
            sizes[i].target = batch->limits[i];
        }
        jm_filter_make(filter, model->config.target_vocab);
        d.plan.places = places;
        d.plan.filter = filter;
        code = run(&d, sizes, batch->count, W, options->rows ? options->rows : rows,
                   options->threads, bad);
    }
    jm_phrasing_free(&phrasing);
    free(d.order);
    free(d.cuts);
    free(sizes);
    free(places);
    free(filter);
    return code;
}

int jm_score(const jm_model *model, const jm_batch *batch, const int32_t *targets,
             const int64_t *target_offsets, int32_t threads, float *log_probs, int32_t *bad) {
    int32_t none;
    if (!bad) bad = &none;
    *bad = -1;
    if (!model || !batch || batch->count < 0 || threads < 1) return JM_BAD_ARGUMENT;
    if (batch->count == 0) return JM_OK;
    const jm_config *c = &model->config;
    if (!log_probs || !are_ids(batch->ids, batch->offsets, batch->count, 1, c->source_vocab, bad) ||
        !are_ids(targets, target_offsets, batch->count, 1, c->target_vocab, bad) ||
        !is_seen(model, batch, target_offsets))
        return JM_BAD_ARGUMENT;
    size_of *sizes = sizes_of(batch);
    jm_filter *filter = malloc(sizeof *filter);
    division d = {
        .plan = {.model = model, .batch = batch, .targets = targets, .log_probs = log_probs}};
    int code = JM_NO_MEMORY;
    if (sizes && filter) {
        for (int32_t i = 0; i < batch->count; i++)
            sizes[i].target = target_offsets[i + 1] - target_offsets[i];
        jm_filter_make(filter, c->target_vocab);
        d.plan.target_offsets = target_offsets;
        d.plan.filter = filter;
        code = run(&d, sizes, batch->count, 1, GREEDY_ROWS, threads, bad);
    }
    free(d.order);
    free(d.cuts);
    free(sizes);
    free(filter);
    return code;
}
