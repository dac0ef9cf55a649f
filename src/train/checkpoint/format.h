/* format.h: state.json, shared by the writer and the reader of checkpoints. */
#pragma once

#include "train/checkpoint/checkpoint.h"

#include <jansson.h>

#define CHECKPOINT_FORMAT 1

/* A number of TrainState in state.json. A row that is added later gets `absent`: its value in a checkpoint that was
 * written before the row existed. */
typedef struct StateField {
    const char *name;
    size_t offset;
    enum { STATE_COUNT, STATE_HASH, STATE_REAL } type; /* int64_t, ≥ 0 or == `absent`; any int64_t; double */
    bool required;                                     /* without it state.json is not accepted */
    double absent;
} StateField;
extern const StateField state_fields[]; /* ends with name NULL */

json_t *state_to_json(const TrainState *state);
/* false where a required number is missing, or a number is of another type or out of its range. */
bool state_from_json(const json_t *object, TrainState *state, GError **error);

/* "%016x" of a checksum. */
void checkpoint_hex(uint64_t hash, char hex[17]);
/* Puts the checksum of the rest of state.json into it, under "xxh3". */
void checkpoint_seal(json_t *root);
/* Removes the checksum; false where it does not match the rest. */
bool checkpoint_unseal(json_t *root);
