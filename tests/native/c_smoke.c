/* Searches with a model from a file and prints what every level of this machine finds.
 *
 * For machines without Python: test_machines.py writes the file, and runs this under an emulator. All numbers
 * are little-endian int32 or float; a tensor is its name's length and name, type, rows, columns, and data,
 * scale and bias as a number of bytes (0: none) and the bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jumok.h"
#include "kernels.h"

enum { BEAM = 3, LIMIT = 12 };

static void *read_bytes(FILE *file, size_t bytes) {
    char *memory = jm_aligned((bytes / 64 + 1) * 64);
    if (!memory || fread(memory, 1, bytes, file) != bytes) exit(3);
    memory[bytes] = 0;
    return memory;
}

static int32_t read_int(FILE *file) {
    int32_t number;
    if (fread(&number, sizeof number, 1, file) != 1) exit(3);
    return number;
}

static void *read_part(FILE *file) {
    const int32_t bytes = read_int(file);
    return bytes ? read_bytes(file, (size_t)bytes) : NULL;
}

static int show(const jm_model *model, const jm_batch *batch, int level, int32_t threads) {
    int32_t tokens[BEAM * LIMIT], lengths[BEAM], finished[BEAM], bad;
    float log_probs[BEAM * LIMIT];
    jm_options options = {.beam = BEAM, .n_best = BEAM, .keep = BEAM, .threads = threads,
                          .length_penalty = 1.0};
    jm_answers answers = {
        .tokens = tokens, .log_probs = log_probs, .lengths = lengths, .finished = finished};
    if (jm_set_level(level) || jm_search(model, batch, &options, &answers, &bad)) return 1;
    for (int a = 0; a < BEAM && lengths[a] >= 0; a++) {
        printf("%d %d", level, finished[a]);
        for (int32_t i = 0; i < lengths[a]; i++)
            printf(" %d:%.6f", tokens[a * LIMIT + i], (double)log_probs[a * LIMIT + i]);
        printf("\n");
    }
    return 0;
}

int main(int count, char **words) {
    FILE *file = count == 2 ? fopen(words[1], "rb") : NULL;
    if (!file) return 2;
    const jm_config *config = read_bytes(file, sizeof *config);
    const int32_t parts = read_int(file);
    jm_tensor *tensors = calloc((size_t)parts, sizeof *tensors);
    for (int32_t i = 0; tensors && i < parts; i++) {
        tensors[i].name = read_part(file);
        tensors[i].type = read_int(file);
        tensors[i].rows = read_int(file);
        tensors[i].columns = read_int(file);
        tensors[i].data = read_part(file);
        tensors[i].scale = read_part(file);
        tensors[i].bias = read_part(file);
    }
    const int32_t length = read_int(file), limit = LIMIT;
    const int32_t *ids = read_bytes(file, (size_t)length * sizeof *ids);
    const int64_t offsets[] = {0, length};
    const jm_batch batch = {.count = 1, .ids = ids, .offsets = offsets, .limits = &limit};
    char error[200] = "";
    jm_model *model = jm_model_new(config, tensors, parts, error, sizeof error);
    if (!model) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    for (int level = 0; level < JM_LEVELS; level++)
        if (jm_levels() >> level & 1)
            for (int32_t threads = 1; threads < 4; threads += 2)
                if (show(model, &batch, level, threads)) return 1;
    jm_model_free(model);
    return 0;
}
