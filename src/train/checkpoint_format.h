/* checkpoint_format.h: what writing and reading of checkpoints share. */
#pragma once

#include "train/checkpoint.h"

#include <jansson.h>

#define CHECKPOINT_FORMAT 1

/* One number of TrainState in state.json; tables end with name NULL. */
typedef struct StateField {
    const char *name;
    size_t offset;
} StateField;
extern const StateField checkpoint_counters[]; /* int64_t */
extern const StateField checkpoint_reals[];    /* double */

/* A counter (int64_t) that checkpoints of earlier versions lack, and its value there. */
typedef struct LaterField {
    const char *name;
    size_t offset;
    int64_t absent;
} LaterField;
extern const LaterField checkpoint_later[];

/* A tensor that a checkpoint holds: a parameter, or with an optimizer a part of its state. cols 0: a vector. */
typedef struct StoredTensor {
    ParamStore *params;
    Optimizer *optimizer; /* NULL: a parameter */
    int index;
    const char *name;
    int64_t rows, cols;
} StoredTensor;
StoredTensor checkpoint_param(ParamStore *params, int index);
StoredTensor checkpoint_optimizer_state(Optimizer *optimizer, int index);
/* Whole, or a box, f32. */
void stored_read(const StoredTensor *stored, float *out);
void stored_write(const StoredTensor *stored, const Box *box, const float *from);

/* The option table of a ModelConfig alone. */
OptionTable checkpoint_model_table(OptionGroup *group);
/* xxh3-64 of a file, in hexadecimal. */
bool checkpoint_hash_file(const char *path, char hex[17], int64_t *bytes, GError **error);
/* Puts the checksum of the rest of state.json into it, as "xxh3". */
void checkpoint_seal(json_t *root);
