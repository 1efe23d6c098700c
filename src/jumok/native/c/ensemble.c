/* Several models that predict together. To a search they are one architecture: each member reads and
 * steps by itself, and their features stand one behind the other; project.c makes one distribution
 * of them.
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

typedef struct {
    const jm_members *members;
    void *states[]; /* of each member */
} joint;

static void end(void *state) {
    joint *j = state;
    for (int32_t k = 0; k < j->members->count; k++)
        if (j->states[k]) j->members->models[k]->arch->end(j->states[k]);
    free(j);
}

static int begin(const jm_model *model, const jm_sources *sources, int32_t width, jm_worker *worker,
                 void **state, int32_t *bad) {
    const jm_members *m = model->members;
    joint *j = calloc(1, sizeof *j + (size_t)m->count * sizeof *j->states);
    int code = j ? JM_OK : JM_NO_MEMORY;
    if (!j) return code;
    j->members = m;
    for (int32_t k = 0; k < m->count && code == JM_OK; k++) {
        const jm_model *one = m->models[k];
        code = one->arch->begin(one, sources, width, worker, &j->states[k], bad);
    }
    if (code)
        end(j);
    else
        *state = j;
    return code;
}

/* The features of member k stand behind those of the members before it, R rows of each. */
static int step(void *state, const jm_rows *rows, float *features, jm_worker *worker) {
    const joint *j = state;
    jm_rows own = *rows;
    for (int32_t k = 0; k < j->members->count; k++) {
        const jm_model *one = j->members->models[k];
        const int code = one->arch->step(j->states[k], &own, features, worker);
        if (code) return code;
        features += (int64_t)rows->count * one->config.width;
        own.look = NULL; /* the first one says where answers come from */
    }
    return JM_OK;
}

static void destroy(jm_model *model) {
    if (model->members) {
        free(model->members->models);
        free(model->members->weights);
        free(model->members);
    }
}

static const jm_arch ensemble = {NULL, destroy, begin, step, end};

/* Whether the models can be one: each is a model of its own, with the same vocabularies. */
static int fit(const jm_model *const *models, const float *weights, int32_t count) {
    if (!models || !weights || count < 1 || count > JM_MOST_MEMBERS) return 0;
    for (int32_t k = 0; k < count; k++)
        if (!models[k] || models[k]->members || !(weights[k] > 0) ||
            models[k]->config.source_vocab != models[0]->config.source_vocab ||
            models[k]->config.target_vocab != models[0]->config.target_vocab)
            return 0;
    return 1;
}

jm_model *jm_model_join(const jm_model *const *models, const float *weights, int32_t count,
                        int32_t mean) {
    if (!fit(models, weights, count) || mean < JM_PROBABILITIES || mean > JM_LOGS) return NULL;
    jm_model *model = calloc(1, sizeof *model);
    jm_members *m = model ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        free(model);
        return NULL;
    }
    model->arch = &ensemble;
    model->members = m;
    m->models = calloc((size_t)count, sizeof *m->models);
    m->weights = calloc((size_t)count, sizeof *m->weights);
    if (!m->models || !m->weights) {
        jm_model_free(model);
        return NULL;
    }
    m->count = count;
    m->mean = mean;
    model->config = models[0]->config;
    model->config.width = 0;
    for (int32_t k = 0; k < count; k++) {
        m->models[k] = models[k];
        m->weights[k] = weights[k];
        model->config.width += models[k]->config.width;
    }
    /* No one multiplies by this: it says how many logits there are, and of how many features. */
    model->output = (jm_matrix){model->config.target_vocab, model->config.width, JM_F32, NULL, NULL, NULL};
    return model;
}
