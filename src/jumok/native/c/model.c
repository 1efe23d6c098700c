/* A model is its parts, found by name and checked. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { NAME = 96, LARGEST = 1 << 24 };
enum { MOST_I8 = INT32_MAX / (127 * 128) }; /* columns whose sum of products fits into 32 bits */

#ifndef JM_SOURCE
#define JM_SOURCE "unknown"
#endif

/* What source this is of: see native/build.py. */
const char *jm_version(void) { return JM_SOURCE; }

void *jm_allocate(size_t bytes) {
    size_t rounded = (bytes + 63) / 64 * 64;
    if (rounded < bytes) {
        return NULL;
    }
    if (rounded == 0) {
        rounded = 64;
    }
    return jm_aligned(rounded);
}

void jm_release(void *memory) { jm_free_aligned(memory); }

void jm_fail(jm_builder *b, const char *format, ...) {
    if (b->failed) {
        return;
    }
    b->failed = 1;
    if (b->error != NULL && b->size > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(b->error, (size_t)b->size, format, arguments);
        va_end(arguments);
    }
}

/* The tensor of this name, or NULL and an error. */
static const jm_tensor *find(jm_builder *b, const char *name) {
    for (int32_t i = 0; i < b->count && !b->failed; i++) {
        if (b->tensors[i].name != NULL && strcmp(b->tensors[i].name, name) == 0) {
            b->used[i] = 1;
            if (b->tensors[i].data == NULL) {
                jm_fail(b, "%s has no data", name);
                return NULL;
            }
            return &b->tensors[i];
        }
    }
    jm_fail(b, "%s is missing", name);
    return NULL;
}

static int has_shape(jm_builder *b, const jm_tensor *t, int32_t rows, int32_t columns) {
    if (t->rows != rows || t->columns != columns) {
        jm_fail(b, "%s is %d x %d, and %d x %d was expected", t->name, t->rows, t->columns, rows,
                columns);
        return 0;
    }
    return 1;
}

void jm_find_matrix(jm_builder *b, jm_matrix *out, int32_t rows, int32_t columns, int bias,
                    const char *name, ...) {
    char full[NAME];
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(full, sizeof full, name, arguments);
    va_end(arguments);
    const jm_tensor *t = find(b, full);
    if (t == NULL || !has_shape(b, t, rows, columns)) {
        return;
    }
    if (t->type != JM_F32 && t->type != JM_I8) {
        jm_fail(b, "%s has type %d, which is neither float nor int8", full, t->type);
    } else if (t->type == JM_I8 && columns > MOST_I8) {
        jm_fail(b, "%s is int8 with %d columns, and %d is the most", full, columns, MOST_I8);
    } else if (t->type == JM_I8 && t->scale == NULL) {
        jm_fail(b, "%s is int8 without scales", full);
    } else if (bias && t->bias == NULL) {
        jm_fail(b, "%s has no bias", full);
    } else if (!bias && t->bias != NULL) {
        jm_fail(b, "%s has a bias, and none was expected", full);
    }
    *out =
        (jm_matrix){rows, columns, t->type, t->data, t->type == JM_I8 ? t->scale : NULL, t->bias};
}

void jm_find_vector(jm_builder *b, const float **out, int32_t rows, int32_t columns,
                    const char *name, ...) {
    char full[NAME];
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(full, sizeof full, name, arguments);
    va_end(arguments);
    const jm_tensor *t = find(b, full);
    if (t == NULL || !has_shape(b, t, rows, columns)) {
        return;
    }
    if (t->type != JM_F32) {
        jm_fail(b, "%s has type %d, and float was expected", full, t->type);
    }
    *out = t->data;
}

static void check_range(jm_builder *b, const char *name, int32_t value, int32_t low, int32_t high) {
    if (value < low || value > high) {
        jm_fail(b, "%s = %d is not in %d ... %d", name, value, low, high);
    }
}

static void check_config(jm_builder *b, const jm_config *c) {
    check_range(b, "arch", c->arch, JM_RNN, JM_TRANSFORMER);
    check_range(b, "width", c->width, 1, 1 << 16);
    check_range(b, "encoder_layers", c->encoder_layers, 0, 1000);
    check_range(b, "decoder_layers", c->decoder_layers, 0, 1000);
    check_range(b, "source_vocab", c->source_vocab, JM_FIRST_BYTE, LARGEST);
    check_range(b, "target_vocab", c->target_vocab, JM_FIRST_BYTE, LARGEST);
}

static void find_all(jm_model *model, jm_builder *b) {
    const jm_config *c = &model->config;
    check_config(b, c);
    if (b->failed) {
        return;
    }
    model->arch = c->arch == JM_TRANSFORMER ? &jm_transformer : &jm_recurrent;
    jm_find_matrix(b, &model->source_embedding, c->source_vocab, c->width, 0, "source_embedding");
    jm_find_matrix(b, &model->target_embedding, c->target_vocab, c->width, 0, "target_embedding");
    jm_find_matrix(b, &model->output, c->target_vocab, c->width, c->logits_bias != 0, "output");
    if (!b->failed) {
        model->arch->build(model, b);
    }
    for (int32_t i = 0; i < b->count && !b->failed; i++) {
        if (!b->used[i]) {
            jm_fail(b, "%s is no part of this model",
                    b->tensors[i].name ? b->tensors[i].name : "(no name)");
        }
    }
}

jm_model *jm_model_new(const jm_config *config, const jm_tensor *tensors, int32_t count,
                       char *error, int32_t size) {
    jm_builder b = {tensors, count, NULL, error, size, 0};
    if (config == NULL || tensors == NULL || count < 0) {
        jm_fail(&b, "no configuration or no tensors");
        return NULL;
    }
    jm_model *model = calloc(1, sizeof *model);
    b.used = calloc((size_t)count + 1, 1);
    if (model == NULL || b.used == NULL) {
        jm_fail(&b, "no memory");
    } else {
        model->config = *config;
        find_all(model, &b);
    }
    free(b.used);
    if (b.failed) {
        jm_model_free(model);
        return NULL;
    }
    return model;
}

void jm_model_free(jm_model *model) {
    if (model != NULL) {
        if (model->arch != NULL) {
            model->arch->destroy(model);
        }
        free(model);
    }
}
