/* Beam search (decoding/beam.py) of the sentences of one sub-batch; a beam of one is greedy search.
 *
 * What is as wide as the vocabulary is in project.c. Here a few numbers of each row are left to be
 * compared: the 2W best of each sentence by their totals, of equals the earlier row first, then the
 * better rank. Draws are W hypotheses of one sentence that go their own ways.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"

/* One token of a hypothesis, and the slot of the step before that it grows from. */
typedef struct {
    int32_t parent, token, place; /* place: the source token it was aligned with */
    float log_prob, look;
} branch;

/* The last token of an answer is that of step `time`. */
typedef struct {
    int32_t time, finished, lacks; /* lacks: soft phrases that it has not */
    branch last;
    double score; /* normalised */
} answer;

typedef struct {
    int32_t number, limit, count; /* number: in the batch; count: answers found */
    int32_t width;                /* hypotheses that are kept, <= W */
    const int32_t *prefix;        /* or the target that is scored */
    int32_t prefix_length;
    branch *history; /* (limit, W) */
    answer *found;   /* up to 4W, of them W that lack a phrase */
    jm_list list;
} beam;

/* The live rows; two of these take turns. */
typedef struct {
    int32_t count;
    int32_t *token, *sentence, *slot, *parent, *ancestor, *state;
    double *total;
    char *progress; /* with phrases */
    int32_t *ended; /* and draws: the time of the last step in which the model would have ended, or -1 */
} live;

/* One way on from a row, with phrases: its bank, and how many of that bank are better. */
typedef struct {
    double total;
    int32_t rank, row, token, bank, turn; /* rank: among all of the sentence, best first */
    float log_prob;
} way;

enum { SPARE = 4 }; /* ways on from one hypothesis that a tree shows beyond W: an end, and rejected ones */
enum { ROOM = 4 }; /* tokens that a begun character may need before a phrase can be written */
enum { FEW = 10 }; /* one row for every hypothesis costs as much as so many rows read for one */

typedef struct {
    const jm_plan *plan;
    int32_t B, W, time, most; /* most: the largest limit */
    int64_t stride;           /* of ancestors; 0: there is one slot only */
    beam *beams;
    live now, next;
    float *features;
    jm_pick *picks;
    float *values; /* (R k) what they find */
    int32_t *ids;
    const jm_draws *draws; /* or NULL */
    int32_t *taken; /* (W) how many pieces of each row have been taken */
    way *ways;      /* with phrases, of one sentence */
    int32_t *turns; /* (banks) */
    int32_t *wanted, *banned;
    float *wanted_values;
    int64_t bans, ban_room; /* in `banned`, of all rows */
    char *after;            /* the progress after a way on */
    uint8_t *scratch;
    jm_projection projection;
    jm_look look; /* place NULL: no one asks */
    jm_sources sources;
    jm_probe probe; /* read if someone looks inside */
    jm_answers told, best; /* with one who watches: tokens of a hypothesis, and of the best */
    void **memory;
    int32_t pieces, room, failed;
} search;

/* Memory that goes with the search, zeros at first. */
static void *take(search *s, size_t count, size_t size) {
    if (s->pieces == s->room) {
        const int32_t room = 2 * s->room + 32;
        void **more = realloc(s->memory, (size_t)room * sizeof *more);
        if (more) {
            s->memory = more;
            s->room = room;
        }
    }
    void *memory = s->pieces == s->room || count > SIZE_MAX / 2 / size ? NULL
                                                                       : calloc(count + 1, size);
    if (!memory) {
        s->failed = 1;
        return NULL;
    }
    return s->memory[s->pieces++] = memory;
}

static void release(search *s) {
    jm_projection_free(&s->projection);
    free(s->banned);
    jm_release(s->probe.slots);
    for (int32_t i = 0; i < s->pieces; i++) free(s->memory[i]);
    free(s->memory);
}

static void take_rows(search *s, live *rows, size_t R) {
    rows->token = take(s, R, sizeof(int32_t));
    rows->sentence = take(s, R, sizeof(int32_t));
    rows->slot = take(s, R, sizeof(int32_t));
    rows->parent = take(s, R, sizeof(int32_t));
    rows->state = take(s, R, sizeof(int32_t));
    rows->total = take(s, R, sizeof(double));
    if (s->plan->phrasing) rows->progress = take(s, R, s->plan->phrasing->stride);
    if (s->plan->phrasing && s->draws) rows->ended = take(s, R, sizeof(int32_t));
    rows->ancestor = take(s, s->stride ? R * (size_t)s->stride : (size_t)s->most, sizeof(int32_t));
}

/* The sources end to end, and one row for each sentence. */
static void take_sources(search *s, const int32_t *order) {
    const jm_batch *batch = s->plan->batch;
    int64_t total = 0;
    for (int32_t i = 0; i < s->B; i++)
        total += batch->offsets[order[i] + 1] - batch->offsets[order[i]];
    int32_t *ids = take(s, (size_t)total, sizeof *ids),
            *limits = take(s, (size_t)s->B, sizeof *limits);
    int64_t *offsets = take(s, (size_t)s->B + 1, sizeof *offsets);
    const int32_t *moved = batch->edits ? batch->edits->source_positions : NULL;
    int32_t *positions = moved ? take(s, (size_t)total, sizeof *positions) : NULL;
    if (s->failed) return;
    for (int32_t i = 0; i < s->B; i++) {
        const int64_t from = batch->offsets[order[i]], n = batch->offsets[order[i] + 1] - from;
        memcpy(ids + offsets[i], batch->ids + from, (size_t)n * sizeof *ids);
        if (moved) memcpy(positions + offsets[i], moved + from, (size_t)n * sizeof *positions);
        offsets[i + 1] = offsets[i] + n;
        limits[i] = s->beams[i].limit;
        s->now.sentence[i] = s->now.parent[i] = i;
        s->now.token[i] = JM_BOS;
        if (s->now.ended) s->now.ended[i] = -1;
    }
    s->now.count = s->B;
    s->probe = (jm_probe){batch->edits, batch->recording, order, positions, NULL, NULL, NULL};
    s->sources = (jm_sources){s->B, ids, offsets, limits,
                              batch->edits || batch->recording ? &s->probe : NULL};
}

/* A beam records each slot by itself: which of them the answer grows from is known at its end. */
static void take_slots(search *s) {
    int64_t *places = take(s, (size_t)s->B, sizeof *places), *sizes = take(s, (size_t)s->B, sizeof *sizes);
    int64_t all = 0;
    for (int32_t i = 0; i < s->B && !s->failed; i++) {
        const int64_t S = s->sources.offsets[i + 1] - s->sources.offsets[i];
        places[i] = all;
        sizes[i] = jm_record_at(s->plan->model, s->plan->batch->recording, (int32_t)S,
                                s->sources.limits[i], JM_RECORD_END, 0, 0);
        all += s->W * sizes[i];
    }
    s->probe.slots = s->failed ? NULL : jm_allocate((size_t)all * sizeof(float));
    s->probe.slot_places = places;
    s->probe.slot_sizes = sizes;
    s->failed |= !s->probe.slots;
}

/* Memory for `count` rows of the output matrix, and those rows in it. */
static void select_rows(search *s, const int32_t *ids, int32_t count, jm_matrix *out) {
    const jm_matrix *output = &s->plan->model->output;
    const size_t size = output->type == JM_I8 ? jm_packed_i8(count, output->columns)
                                              : jm_packed_f32(count, output->columns);
    const size_t padded = (size_t)jm_blocks(count) * JM_BLOCK;
    char *data = take(s, size + 2 * padded * sizeof(float) + 64, 1);
    if (s->failed) return;
    data = (char *)(((uintptr_t)data + 63) / 64 * 64);
    float *scale = (float *)(data + size);
    jm_select_rows(output, ids, count, data, scale, scale + padded, out);
}

/* The output rows of the lists: a row in few of them is computed for their sentences alone, which
 * reads it once for each; one in many for all, which reads it once. */
static void take_lists(search *s) {
    const jm_batch *batch = s->plan->batch;
    const int32_t V = s->plan->model->output.rows, few = (int32_t)((int64_t)s->B * s->W / FEW);
    const int64_t *offsets = batch->shortlist_offsets;
    int32_t *users = take(s, (size_t)V, sizeof *users), *place = take(s, (size_t)V, sizeof *place);
    int32_t *ids = take(s, (size_t)V, sizeof *ids);
    int64_t total = 0;
    int32_t count = 0;
    if (s->failed) return;
    for (int32_t i = 0; i < s->B; i++) {
        const int64_t *at = offsets + s->beams[i].number;
        for (int64_t j = at[0]; j < at[1]; j++) users[batch->shortlist[j]]++;
        total += at[1] - at[0];
    }
    for (int32_t id = 0; id < V; id++) {
        if (users[id] <= few) continue;
        place[id] = count;
        ids[count++] = id;
    }
    select_rows(s, ids, count, &s->projection.matrix);
    int32_t *places = take(s, (size_t)total, sizeof *places);
    for (int32_t i = 0; i < s->B && !s->failed; i++) {
        const int64_t *at = offsets + s->beams[i].number;
        jm_list *list = &s->beams[i].list;
        *list = (jm_list){batch->shortlist + at[0], places, (int32_t)(at[1] - at[0]), 0, {0}};
        int32_t own = 0;
        for (int32_t j = 0; j < list->count; j++) {
            const int32_t id = list->ids[j];
            places[j] = users[id] > few ? place[id] : count + own;
            if (users[id] <= few) ids[own++] = id;
            list->bytes += id < JM_LEARNED_ID;
        }
        places += list->count;
        if (own > 0) select_rows(s, ids, own, &list->own);
        if (own > s->projection.own) s->projection.own = own;
    }
}

static void take_beams(search *s, const int32_t *order, int scores) {
    const jm_plan *plan = s->plan;
    const jm_batch *batch = plan->batch;
    const size_t W = (size_t)s->W;
    size_t links = 0;
    s->beams = take(s, (size_t)s->B, sizeof *s->beams);
    for (int32_t i = 0; i < s->B && !s->failed; i++) {
        beam *b = &s->beams[i];
        const int32_t *tokens = scores ? plan->targets : batch->prefix;
        const int64_t *offsets = scores ? plan->target_offsets : batch->prefix_offsets;
        b->number = order[i];
        if (tokens) {
            const int64_t n = offsets[order[i] + 1] - offsets[order[i]];
            b->prefix = tokens + offsets[order[i]];
            b->prefix_length = (int32_t)(n < INT32_MAX ? n : INT32_MAX);
        }
        b->limit = scores ? b->prefix_length : batch->limits[order[i]];
        b->width = plan->phrasing ? plan->phrasing->phrases->widths[order[i]] : s->W;
        if (b->limit > s->most) s->most = b->limit;
        links += (size_t)b->limit * W;
    }
    branch *history = scores ? NULL : take(s, links, sizeof *history);
    answer *found = scores ? NULL : take(s, 4 * W * (size_t)s->B, sizeof *found);
    for (int32_t i = 0; i < s->B && !scores && !s->failed; i++) {
        s->beams[i].history = history;
        s->beams[i].found = found + 4 * W * (size_t)i;
        history += (size_t)s->beams[i].limit * W;
    }
}

/* What phrases need. */
static void take_phrases(search *s, size_t R, int32_t k) {
    const jm_phrasing *g = s->plan->phrasing;
    int32_t banks = 0;
    for (int32_t i = 0; i < s->B; i++) {
        const int32_t size = jm_phrases_size(g, s->beams[i].number);
        if (size > banks) banks = size;
    }
    const size_t wanted = (size_t)g->most_wanted;
    s->ways = take(s, (size_t)s->W * ((size_t)k + wanted), sizeof *s->ways);
    s->turns = take(s, (size_t)banks + 1, sizeof *s->turns);
    s->wanted = take(s, R * wanted, sizeof *s->wanted);
    s->wanted_values = take(s, R * wanted, sizeof *s->wanted_values);
    s->after = take(s, 1, g->stride);
    s->scratch = take(s, (size_t)g->most_bytes + (size_t)g->longest_piece, 1);
}

/* Room for one hypothesis as it is told. */
static void take_told(search *s, jm_answers *one) {
    one->tokens = take(s, (size_t)s->most, sizeof *one->tokens);
    one->log_probs = take(s, (size_t)s->most, sizeof *one->log_probs);
}

/* All that the steps need; 0, or -1: no memory. */
static int prepare(search *s, const jm_plan *plan, const int32_t *order, int32_t count, int scores,
                   const jm_worker *worker) {
    const int32_t V = plan->model->config.target_vocab, D = plan->model->config.width;
    s->plan = plan;
    s->B = count;
    s->W = scores ? 1 : plan->options->beam;
    const size_t R = (size_t)s->B * (size_t)s->W;
    const int32_t wide = plan->phrasing ? s->W + 1 : 2 * s->W;
    const int32_t spare = !scores && plan->batch->tree ? s->W + SPARE : 0; /* what it shows besides */
    s->draws = scores ? NULL : plan->batch->draws;
    const int32_t one = s->draws || (s->W == 1 && !spare);
    const int32_t asked = one ? 1 : spare > wide ? spare : wide;
    const int32_t k = asked < V ? asked : V;
    const int lists = !scores && plan->batch->shortlist != NULL;
    if (R > INT32_MAX) return -1;
    take_beams(s, order, scores);
    s->stride = s->W > 1 ? s->most : 0;
    take_rows(s, &s->now, R);
    take_rows(s, &s->next, R);
    s->features = take(s, R * (size_t)D, sizeof(float));
    s->picks = take(s, R, sizeof *s->picks);
    s->taken = take(s, (size_t)s->W, sizeof *s->taken);
    s->values = take(s, R * (size_t)k, sizeof *s->values);
    s->ids = take(s, R * (size_t)k, sizeof *s->ids);
    if (!scores && plan->options->align) {
        s->look.layer = plan->options->align - 1;
        s->look.head = plan->options->align_head - 1;
        s->look.before = plan->options->align_before;
        s->look.behind = plan->options->align_behind;
        s->look.place = take(s, R, sizeof *s->look.place);
        s->look.weight = take(s, R, sizeof *s->look.weight);
    }
    if (plan->phrasing && !s->failed) take_phrases(s, R, k);
    if (!scores && plan->batch->watch) {
        take_told(s, &s->told);
        take_told(s, &s->best);
    }
    if (s->failed) return -1;
    for (size_t r = 0; r < R; r++) {
        s->picks[r].values = s->values + r * (size_t)k;
        s->picks[r].ids = s->ids + r * (size_t)k;
    }
    take_sources(s, order);
    if (s->W > 1 && plan->batch->recording && !s->failed) take_slots(s);
    s->projection.filter = plan->filter;
    s->projection.matrix = plan->model->output;
    s->projection.members = plan->model->members;
    s->projection.draws = s->draws;
    s->projection.tells =
        plan->batch->recording != NULL && plan->batch->recording->keep & JM_KEEP_STEPS;
    if (lists && !s->failed) take_lists(s);
    if (s->failed) return -1;
    return jm_projection_make(&s->projection, (int32_t)R, k, lists, worker->team != NULL);
}

/* ---- answers ---- */

static double length_penalty(int32_t length, double alpha) {
    return pow((5 + (double)length) / 6, alpha);
}

/* A hypothesis that goes on from a row with this token, and where the head looked for it. */
static branch grown_branch(const search *s, int32_t row, int32_t first, int32_t token,
                           float log_prob) {
    const int looks = s->look.place != NULL;
    return (branch){row - first, token, looks ? s->look.place[row] : 0, log_prob,
                    looks ? s->look.weight[row] : 0};
}

/* What is written of an answer, at this place; NULL: not wanted. The sum of its log-probabilities,
 * as exact as math.fsum in all but the rarest cases. */
static double trace(const beam *b, int32_t W, const answer *a, const jm_answers *out, int64_t place,
                    int after) {
    double sum = 0, lost = 0;
    branch at = a->last, later = at;
    for (int32_t t = a->time;; t--) {
        const double value = at.log_prob, next = sum + value;
        lost += fabs(sum) >= fabs(value) ? (sum - next) + value : (value - next) + sum;
        sum = next;
        if (out) {
            out->tokens[place + t] = at.token;
            out->log_probs[place + t] = at.log_prob;
        }
        if (out && out->places) {
            out->places[place + t] = after ? later.place : at.place;
            out->looks[place + t] = after ? later.look : at.look;
        }
        later = at;
        if (t == 0) return sum + lost;
        at = b->history[(int64_t)(t - 1) * W + at.parent];
    }
}

/* Keeps an answer that lacks some of its soft phrases: the W best of those. */
static void keep_lacking(const search *s, beam *b, answer one) {
    answer *worst = NULL;
    int32_t count = 0;
    for (int32_t i = 0; i < b->count; i++) {
        answer *a = &b->found[i];
        if (!a->lacks) continue;
        count++;
        if (!worst || a->score <= worst->score) worst = a;
    }
    if (count < s->W)
        b->found[b->count++] = one;
    else if (one.finished && one.score > worst->score)
        *worst = one;
}

/* The steps that the best answer grew from. */
static void record_answer(const search *s, const beam *b) {
    branch at = b->found[0].last;
    for (int32_t t = b->found[0].time;; t--) {
        jm_record_step(s->plan->model, &s->sources, (int32_t)(b - s->beams), at.parent, t, at.log_prob);
        if (t == 0) return;
        at = b->history[(int64_t)(t - 1) * s->W + at.parent];
    }
}

static void find_answer(search *s, beam *b, branch last, int32_t lacks) {
    answer a = {s->time, last.token == JM_EOS, lacks, last, 0};
    if (s->W > 1) {
        const double charge = lacks ? lacks * s->plan->phrasing->phrases->soft : 0;
        a.score = (trace(b, s->W, &a, NULL, 0, 0) - charge) /
                  length_penalty(s->time + 1, s->plan->options->length_penalty);
    }
    if (lacks)
        keep_lacking(s, b, a);
    else
        b->found[b->count++] = a;
}

/* Best first: finished ones, then by score; equals in the order they were found. */
static void write_answers(search *s, beam *b) {
    const int32_t keep = s->plan->options->keep;
    const jm_answers *out = s->plan->answers;
    for (int32_t i = 1; i < b->count; i++) {
        const answer one = b->found[i];
        int32_t at = i;
        for (; at > 0; at--) {
            const answer *before = &b->found[at - 1];
            if (before->finished > one.finished ||
                (before->finished == one.finished && !(one.score > before->score)))
                break;
            b->found[at] = *before;
        }
        b->found[at] = one;
    }
    for (int32_t n = 0; n < keep; n++) {
        const int64_t at = (int64_t)b->number * keep + n;
        const int64_t place = s->plan->places[b->number] + (int64_t)n * b->limit;
        out->lengths[at] = n < b->count ? b->found[n].time + 1 : -1;
        out->finished[at] = n < b->count && b->found[n].finished;
        if (n < b->count)
            trace(b, s->W, &b->found[n], out, place, s->plan->options->align_after);
    }
    if (s->probe.slots) record_answer(s, b);
}

/* Whether the live hypotheses, the best of which has log-probability `leader`, can be given up. */
static int is_done(const search *s, const beam *b, double leader) {
    const jm_options *o = s->plan->options;
    const jm_phrasing *g = s->plan->phrasing;
    int32_t whole = 0;
    for (int32_t i = 0; i < b->count; i++) whole += !b->found[i].lacks;
    if (whole >= (g ? g->phrases->enough : s->W)) return 1;
    if (b->count < o->n_best) return 0;
    const double bound = leader / length_penalty(b->limit, o->length_penalty);
    int32_t above = 0;
    for (int32_t i = 0; i < b->count; i++) above += b->found[i].score >= bound;
    return above >= o->n_best;
}

/* ---- one step ---- */

/* A row that grows from row `from` by a token, in this slot. */
static void grow_row(search *s, int32_t from, int32_t slot, int32_t token, double total) {
    const live *now = &s->now;
    live *next = &s->next;
    const int32_t r = next->count++;
    next->token[r] = token;
    next->sentence[r] = now->sentence[from];
    next->slot[r] = slot;
    next->parent[r] = from;
    next->state[r] = jm_filter_after(s->plan->filter, now->state[from], token);
    next->total[r] = total;
    if (next->ended) next->ended[r] = s->picks[from].ends ? s->time : now->ended[from];
    if (next->progress)
        jm_progress_after(s->plan->phrasing, s->beams[now->sentence[from]].number,
                          now->progress + (size_t)from * s->plan->phrasing->stride, token,
                          next->progress + (size_t)r * s->plan->phrasing->stride, s->scratch);
    if (s->stride && s->time + 1 < s->most) {
        int32_t *ancestor = next->ancestor + r * s->stride;
        memcpy(ancestor, now->ancestor + from * s->stride,
               ((size_t)s->time + 1) * sizeof *ancestor);
        ancestor[s->time + 1] = slot;
    }
}

/* One way on into the tree, if there is one; where it is written, or -1. */
static int64_t note_way(const search *s, int32_t row, int32_t token, float log_prob) {
    jm_tree *tree = s->plan->batch->tree;
    if (!tree) return -1;
    const int64_t at = tree->count++;
    if (at >= tree->room) return -1;
    tree->step[at] = s->time;
    tree->row[at] = row;
    tree->token[at] = token;
    tree->place[at] = -1;
    tree->log_prob[at] = log_prob;
    return at;
}

/* What becomes of a way on of this step: its place among those that live on, -2: it is an answer. */
static void note_fate(const search *s, int64_t first, int32_t row, int32_t token, int32_t place) {
    jm_tree *tree = s->plan->batch->tree;
    for (int64_t at = first; tree && at < tree->count && at < tree->room; at++)
        if (tree->row[at] == row && tree->token[at] == token) tree->place[at] = place;
}

static int64_t noted(const search *s) { return s->plan->batch->tree ? s->plan->batch->tree->count : 0; }

/* The sentence whose rows are first..last takes its step: its ends are answers, the others go on.
 */
static void grow_beam(search *s, int32_t first, int32_t last) {
    beam *b = &s->beams[s->now.sentence[first]];
    const int32_t begins = s->next.count, at_limit = s->time + 1 == b->limit;
    int32_t grown = 0;
    double leader = -INFINITY;
    const int64_t tree = noted(s);
    memset(s->taken, 0, (size_t)(last - first) * sizeof *s->taken);
    for (int32_t r = first; r < last && s->plan->batch->tree; r++)
        for (int32_t j = 0; j < s->picks[r].found; j++)
            note_way(s, r - first, s->picks[r].ids[j], s->picks[r].values[j]);
    for (int32_t n = 0; n < 2 * s->W && grown < s->W; n++) {
        int32_t best = -1;
        double total = -INFINITY;
        for (int32_t r = first; r < last; r++) {
            const jm_pick *pick = &s->picks[r];
            const int32_t j = s->taken[r - first];
            if (j < pick->found && s->now.total[r] + (double)pick->values[j] > total) {
                total = s->now.total[r] + (double)pick->values[j];
                best = r;
            }
        }
        if (best < 0) break;
        const int32_t j = s->taken[best - first]++;
        const branch one =
            grown_branch(s, best, first, s->picks[best].ids[j], s->picks[best].values[j]);
        if (one.token == JM_EOS) {
            if (n < s->W) find_answer(s, b, one, 0);
            if (n < s->W) note_fate(s, tree, best - first, one.token, -2);
            continue;
        }
        if (grown == 0) leader = total;
        note_fate(s, tree, best - first, one.token, grown);
        b->history[(int64_t)s->time * s->W + grown] = one;
        grow_row(s, best, grown++, one.token, total);
    }
    for (int32_t w = 0; w < grown && at_limit; w++)
        find_answer(s, b, b->history[(int64_t)s->time * s->W + w], 0);
    if (at_limit || grown == 0 || is_done(s, b, leader)) {
        s->next.count = begins;
        write_answers(s, b);
    }
}

/* ---- one step with phrases ---- */

static const char *progress_of(const search *s, const live *rows, int32_t r) {
    return rows->progress + (size_t)r * s->plan->phrasing->stride;
}

/* Best first; of equals the earlier row, then the better rank in it, which `rank` says at first. */
static int better_way(const void *one, const void *other) {
    const way *a = one, *b = other;
    if (a->total != b->total) return a->total > b->total ? -1 : 1;
    return a->rank < b->rank ? -1 : 1;
}

/* One of each bank in turn, the highest first. */
static int earlier_turn(const void *one, const void *other) {
    const way *a = one, *b = other;
    if (a->turn != b->turn) return a->turn < b->turn ? -1 : 1;
    return a->bank > b->bank ? -1 : 1;
}

static int by_rank(const void *one, const void *other) {
    return ((const way *)one)->rank < ((const way *)other)->rank ? -1 : 1;
}

static void add_way(search *s, int32_t *count, int32_t row, int32_t token, float log_prob) {
    s->ways[*count] = (way){s->now.total[row] + (double)log_prob, *count, row, token, 0, 0,
                            log_prob};
    ++*count;
}

/* All ways on of a sentence in the order in which they are taken; how many there are. */
static int32_t order_ways(search *s, const beam *b, int32_t first, int32_t last) {
    const jm_phrasing *g = s->plan->phrasing;
    int32_t count = 0;
    for (int32_t r = first; r < last; r++) {
        const jm_pick *pick = &s->picks[r];
        const int32_t most = b->width + 1; /* one of them may be the end */
        const int32_t found = pick->found < most ? pick->found : most;
        for (int32_t j = 0; j < found; j++) add_way(s, &count, r, pick->ids[j], pick->values[j]);
        for (int32_t j = 0; j < pick->wants; j++) {
            int known = pick->wanted_values[j] == -INFINITY;
            for (int32_t i = 0; i < found && !known; i++) known = pick->ids[i] == pick->wanted[j];
            if (!known) add_way(s, &count, r, pick->wanted[j], pick->wanted_values[j]);
        }
    }
    for (int32_t n = 0; n < count; n++)
        note_way(s, s->ways[n].row - first, s->ways[n].token, s->ways[n].log_prob);
    qsort(s->ways, (size_t)count, sizeof *s->ways, better_way);
    memset(s->turns, 0, ((size_t)jm_phrases_size(g, b->number) + 1) * sizeof *s->turns);
    for (int32_t n = 0; n < count; n++) {
        way *w = &s->ways[n];
        const char *from = progress_of(s, &s->now, w->row);
        w->rank = n;
        if (w->token != JM_EOS)
            jm_progress_after(g, b->number, from, w->token, s->after, s->scratch);
        w->bank = jm_phrases_bank(g, b->number, w->token == JM_EOS ? from : s->after);
        w->turn = s->turns[w->bank]++;
    }
    qsort(s->ways, (size_t)count, sizeof *s->ways, earlier_turn);
    return count;
}

/* The hypotheses that the limit cuts off; those with all that is required, if there are any. */
static void keep_at_limit(search *s, beam *b, int32_t begins, int32_t grown) {
    const jm_phrasing *g = s->plan->phrasing;
    int32_t whole = 0;
    for (int32_t w = 0; w < grown; w++)
        whole += jm_phrases_may_end(g, b->number, progress_of(s, &s->next, begins + w));
    for (int32_t w = 0; w < grown; w++) {
        const char *at = progress_of(s, &s->next, begins + w);
        if (!whole || jm_phrases_may_end(g, b->number, at))
            find_answer(s, b, b->history[(int64_t)s->time * s->W + w],
                        jm_phrases_lacking(g, b->number, at));
    }
}

/* `grow_beam` with phrases: places are shared out between the banks. */
static void grow_banks(search *s, int32_t first, int32_t last) {
    beam *b = &s->beams[s->now.sentence[first]];
    const int32_t begins = s->next.count, at_limit = s->time + 1 == b->limit;
    const int64_t tree = noted(s);
    const int32_t count = order_ways(s, b, first, last);
    int32_t grown = 0;
    for (int32_t n = 0; n < count && grown < b->width; n++) {
        const way w = s->ways[n];
        if (w.token != JM_EOS) {
            s->ways[grown++] = w; /* not behind n */
            continue;
        }
        if (n < b->width) {
            find_answer(s, b, grown_branch(s, w.row, first, w.token, w.log_prob),
                        jm_phrases_lacking(s->plan->phrasing, b->number,
                                           progress_of(s, &s->now, w.row)));
            note_fate(s, tree, w.row - first, w.token, -2);
        }
    }
    qsort(s->ways, (size_t)grown, sizeof *s->ways, by_rank);
    for (int32_t i = 0; i < grown; i++) {
        const way *w = &s->ways[i];
        b->history[(int64_t)s->time * s->W + i] = grown_branch(s, w->row, first, w->token, w->log_prob);
        note_fate(s, tree, w->row - first, w->token, i);
        grow_row(s, w->row, i, w->token, w->total);
    }
    if (at_limit) keep_at_limit(s, b, begins, grown);
    if (at_limit || grown == 0 || is_done(s, b, s->ways[0].total)) {
        s->next.count = begins;
        write_answers(s, b);
    }
}

/* ---- one step of draws ---- */

/* Every draw goes on with what was picked for it, in a slot of its own. All begin in one row. */
static void grow_draws(search *s, int32_t first, int32_t last) {
    beam *b = &s->beams[s->now.sentence[first]];
    const int32_t begins = s->next.count, at_limit = s->time + 1 == b->limit;
    for (int32_t r = first; r < last; r++) {
        const jm_pick *pick = &s->picks[r];
        for (int32_t d = 0; d < pick->draws; d++) {
            const int32_t parent = s->now.slot[r], slot = s->time == 0 ? d : parent;
            const branch one = grown_branch(s, r, r - parent, pick->ids[d], pick->values[d]);
            b->history[(int64_t)s->time * s->W + slot] = one;
            if (one.token == JM_EOS || at_limit)
                find_answer(s, b, one, 0);
            else
                grow_row(s, r, slot, one.token, 0);
        }
    }
    if (s->next.count == begins) write_answers(s, b);
}

static void note_banned(void *who, const int32_t *ids, int32_t count) {
    search *s = who;
    if (s->bans + count > s->ban_room) {
        const int64_t room = 2 * (s->bans + count) + 64;
        int32_t *more = realloc(s->banned, (size_t)room * sizeof *more);
        if (!more) {
            s->failed = 1;
            return;
        }
        s->banned = more;
        s->ban_room = room;
    }
    memcpy(s->banned + s->bans, ids, (size_t)count * sizeof *ids);
    s->bans += count;
}

/* Whether an id may come next, as far as characters say. */
static int may_come(const search *s, const beam *b, int32_t state, int32_t room, int32_t id) {
    const jm_filter *f = s->plan->filter;
    if (b->list.ids) {
        uint8_t mask[JM_STRIPE];
        const int learned = jm_filter_list(f, state, room, 0, b->list.ids, b->list.bytes,
                                           b->list.count > b->list.bytes, mask);
        for (int32_t j = 0; j < b->list.count; j++)
            if (b->list.ids[j] == id) return j < b->list.bytes ? mask[j] : learned;
        return 0;
    }
    return id < JM_LEARNED_ID ? f->mask[state][room][0][id] : f->learned[state][room][0];
}

/* What phrases ask of a draw: `require` in decoding/filters.py. The model is free until it would end,
 * or until there is just enough room for what is missing. Where what comes next may not come, all that
 * phrases ask is let go; banned texts, the first of the bans, are not. */
static void ask_for_next(search *s, int32_t r, int64_t bans, int64_t texts) {
    const jm_phrasing *g = s->plan->phrasing;
    const beam *b = &s->beams[s->now.sentence[r]];
    const char *progress = progress_of(s, &s->now, r);
    jm_pick *pick = &s->picks[r];
    int32_t begun = 0;
    int64_t needed;
    const int32_t id = jm_phrases_next(g, b->number, progress, &begun, &needed);
    pick->early = pick->no_end;
    pick->texts = (int32_t)(texts - bans);
    if (id < 0) return;
    int may = may_come(s, b, pick->state, pick->room, id);
    for (int64_t j = texts; j < s->bans; j++) may &= s->banned[j] != id;
    const int now = s->now.ended[r] >= s->time - begun || b->limit - s->time <= needed + ROOM;
    if (now && may)
        pick->forced = id;
    else if (now)
        s->bans = texts;
    else
        pick->at_end = may ? id : JM_LET_GO;
    pick->no_end |= !now;
}

/* What phrases ask of each row. */
static void ask_for_phrases(search *s) {
    const jm_phrasing *g = s->plan->phrasing;
    int64_t at = 0;
    s->bans = 0;
    for (int32_t r = 0; r < s->now.count; r++) {
        const int32_t number = s->beams[s->now.sentence[r]].number;
        const char *progress = progress_of(s, &s->now, r);
        jm_pick *pick = &s->picks[r];
        const int64_t before = s->bans;
        pick->bans = pick->wants = 0;
        if (pick->forced >= 0) continue;
        if (!s->draws) {
            int32_t *wanted = s->wanted + (int64_t)r * g->most_wanted;
            pick->no_end |= !jm_phrases_may_end(g, number, progress);
            pick->wanted = wanted;
            pick->wanted_values = s->wanted_values + (int64_t)r * g->most_wanted;
            pick->wants = jm_phrases_wanted(g, number, progress, wanted);
        }
        jm_texts_banned(g, progress, note_banned, s);
        const int64_t texts = s->bans;
        jm_phrases_banned(g, number, progress, note_banned, s);
        if (s->draws) ask_for_next(s, r, before, texts);
        pick->bans = (int32_t)(s->bans - before);
    }
    for (int32_t r = 0; r < s->now.count; r++) { /* now they stay where they are */
        s->picks[r].banned = s->banned + at;
        at += s->picks[r].bans;
    }
}

/* The id that a row must go on with, or -1. */
static int32_t forced(const search *s, const beam *b, int32_t state, int32_t room) {
    if (s->time >= b->prefix_length) return -1;
    const int32_t id = b->prefix[s->time];
    return may_come(s, b, state, room, id) ? id : -1;
}

/* The random numbers of a row: of a sentence's first step for all of its draws. */
static void ask_to_draw(search *s, int32_t r) {
    const beam *b = &s->beams[s->now.sentence[r]];
    jm_pick *pick = &s->picks[r];
    const int64_t place = s->draws->places[b->number];
    pick->draws = s->time == 0 ? s->W : 1;
    pick->stride = b->limit;
    pick->uniforms = s->draws->uniforms + place + (int64_t)s->now.slot[r] * b->limit + s->time;
    pick->values = s->values + (int64_t)r * pick->draws;
    pick->ids = s->ids + (int64_t)r * pick->draws;
    pick->at_end = JM_NO_ID;
}

static void ask(search *s, int scores) {
    for (int32_t r = 0; r < s->now.count; r++) {
        const beam *b = &s->beams[s->now.sentence[r]];
        jm_pick *pick = &s->picks[r];
        pick->state = s->now.state[r];
        pick->room = jm_filter_room(b->limit - s->time);
        pick->no_end = !scores && s->time < s->plan->options->min_len;
        pick->list = b->list.ids ? &b->list : NULL;
        pick->forced = scores ? b->prefix[s->time] : forced(s, b, pick->state, pick->room);
        if (s->draws) ask_to_draw(s, r);
    }
    if (s->plan->phrasing) ask_for_phrases(s);
}

/* What each row thought, and the log P of what it goes on with, where that is known. */
static void record_steps(const search *s) {
    const jm_model *model = s->plan->model;
    for (int32_t r = 0; r < s->now.count; r++) {
        const int32_t i = s->now.sentence[r];
        float *part[JM_TOP_ID + 1];
        for (int32_t p = JM_LOG_PROB; p <= JM_TOP_ID; p++)
            part[p] = jm_record_of(model, &s->sources, i, s->now.slot[r], p, 0, 0);
        part[JM_LOG_PROB][s->time] = s->picks[r].values[0];
        const int64_t at = (int64_t)s->time * JM_RECORD_TOP;
        jm_opinion(&s->projection, s->now.count, r, part[JM_ENTROPY] + s->time,
                   part[JM_TOP_LOG_PROB] + at, (int32_t *)part[JM_TOP_ID] + at);
    }
}

/* Features, then the best pieces of each row. */
static int look(search *s, void *state, int scores, jm_worker *worker, int32_t *bad) {
    const live *now = &s->now;
    const jm_rows rows = {
        now->count,    s->time,   now->token, now->sentence, now->slot, now->parent,
        now->ancestor, s->stride, s->look.place ? &s->look : NULL};
    jm_step_begins(worker);
    const int code = s->plan->model->arch->step(state, &rows, s->features, worker);
    *bad = s->beams[now->sentence[0]].number;
    if (code) return code;
    if (worker->blind) {
        *bad = s->beams[worker->blind - 1].number;
        return JM_NO_KEY;
    }
    ask(s, scores);
    const int32_t row = jm_project(&s->projection, s->features, now->count, s->picks, worker);
    jm_step_ends(worker);
    if (worker->failed || s->failed) return JM_NO_MEMORY;
    if (row < 0 && s->projection.tells) record_steps(s);
    if (row < 0) return JM_OK;
    *bad = s->beams[now->sentence[row]].number;
    return JM_NOT_FINITE;
}

static void advance(search *s) {
    s->next.count = 0;
    for (int32_t first = 0, last; first < s->now.count; first = last) {
        for (last = first + 1;
             last < s->now.count && s->now.sentence[last] == s->now.sentence[first];)
            last++;
        if (s->draws)
            grow_draws(s, first, last);
        else if (s->plan->phrasing)
            grow_banks(s, first, last);
        else
            grow_beam(s, first, last);
    }
    const live done = s->now;
    s->now = s->next;
    s->next = done;
}

/* Every row goes on with its target's token. */
static void follow(search *s) {
    s->next.count = 0;
    for (int32_t r = 0; r < s->now.count; r++) {
        const beam *b = &s->beams[s->now.sentence[r]];
        const int64_t at = s->plan->target_offsets[b->number] + s->time;
        s->plan->log_probs[at] = s->picks[r].values[0];
        if (s->time + 1 < b->limit) grow_row(s, r, 0, b->prefix[s->time], 0);
    }
    const live done = s->now;
    s->now = s->next;
    s->next = done;
}

/* ---- how far it has come ---- */

/* The best of the answers; finished ones come first. NULL: there is none yet. */
static const answer *best_found(const beam *b) {
    const answer *best = b->count ? b->found : NULL;
    for (int32_t i = 1; i < b->count; i++) {
        const answer *a = &b->found[i];
        if (a->finished > best->finished || (a->finished == best->finished && a->score > best->score))
            best = a;
    }
    return best;
}

/* Tells whoever watches of the one sentence: `find_lead` in decoding/search.py. What comes first in
 * the end is the best answer so far or grows from a live hypothesis; what they share is stable. */
static int tell(search *s) {
    const jm_watch *watch = s->plan->batch->watch;
    const beam *b = s->beams;
    const answer *found = best_found(b);
    const int32_t ended = found != NULL;
    jm_lead lead = {0};
    double best = -INFINITY;
    for (int32_t n = 0; n < ended + s->now.count; n++) {
        answer one = {.time = s->time};
        if (n < ended)
            one = *found;
        else
            one.last = b->history[(int64_t)s->time * s->W + s->now.slot[n - ended]];
        const double sum = trace(b, s->W, &one, &s->told, 0, 0);
        const double score = sum / length_penalty(one.time + 1, s->plan->options->length_penalty);
        const int32_t count = one.time + 1 - one.finished;
        int32_t shared = 0;
        const int32_t most = n == 0 ? count : count < lead.stable ? count : lead.stable;
        while (n > 0 && shared < most && s->told.tokens[shared] == s->best.tokens[shared]) shared++;
        lead.stable = n == 0 ? count : shared;
        if (n > 0 && !(score > best)) continue;
        best = score;
        lead.score = sum;
        lead.count = count;
        memcpy(s->best.tokens, s->told.tokens, (size_t)count * sizeof *s->best.tokens);
    }
    for (int32_t i = 0; i < b->count && watch->any; i++) {
        const int32_t count = b->found[i].time + 1 - b->found[i].finished;
        trace(b, s->W, &b->found[i], &s->told, 0, 0);
        int32_t shared = 0;
        while (shared < lead.stable && shared < count &&
               s->told.tokens[shared] == s->best.tokens[shared])
            shared++;
        lead.stable = shared;
    }
    lead.live = s->now.count;
    lead.ids = s->best.tokens;
    return watch->step(watch->who, &lead) ? JM_STOPPED : JM_OK;
}

static int run(const jm_plan *plan, const int32_t *order, int32_t count, int scores,
               jm_worker *worker, int32_t *bad) {
    search s = {0};
    void *state = NULL;
    const jm_arch *arch = plan->model->arch;
    int code = prepare(&s, plan, order, count, scores, worker) ? JM_NO_MEMORY : JM_OK;
    *bad = -1;
    if (code == JM_OK) {
        code = arch->begin(plan->model, &s.sources, s.W, worker, &state, bad);
        if (code && *bad >= 0) *bad = order[*bad];
        if (code == JM_OK && worker->blind) {
            *bad = order[worker->blind - 1];
            code = JM_NO_KEY;
        }
    }
    for (; code == JM_OK && s.now.count > 0; s.time++) {
        code = look(&s, state, scores, worker, bad);
        if (code) break;
        if (scores)
            follow(&s);
        else
            advance(&s);
        if (!scores && plan->batch->watch) code = tell(&s);
    }
    for (int32_t i = 0; i < s.B && code == JM_OK && plan->batch->recording; i++)
        jm_record_close(plan->model, &s.sources, i, scores ? s.beams[i].limit : s.beams[i].found[0].time + 1);
    if (state) arch->end(state);
    release(&s);
    return code;
}

int jm_search_some(const jm_plan *plan, const int32_t *order, int32_t count, jm_worker *worker,
                   int32_t *bad) {
    return run(plan, order, count, 0, worker, bad);
}

int jm_score_some(const jm_plan *plan, const int32_t *order, int32_t count, jm_worker *worker,
                  int32_t *bad) {
    return run(plan, order, count, 1, worker, bad);
}
