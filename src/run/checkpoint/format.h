/* format.h: the format of state.json, shared by the writer and the reader of checkpoints. */
#pragma once

#include "run/checkpoint/checkpoint.h"

#include <jansson.h>

#define CHECKPOINT_FORMAT 1

/* A number of TrainState in state.json. `absent` is the value read from an older checkpoint that does not have the
 * number. */
typedef struct StateField {
    const char *name;
    size_t offset;
    enum {
        STATE_COUNT,
        STATE_HASH,
        STATE_REAL
    } type;        /* COUNT: int64_t, ≥ 0 or equal to `absent`; HASH: any int64_t; REAL: double */
    bool required; /* it is an error if the number is missing */
    double absent;
} StateField;
extern const StateField state_fields[]; /* ends with name NULL */

json_t *state_to_json(const TrainState *state);
/* Fails if a required number is missing, or a number has another type or is out of range. */
bool state_from_json(const json_t *object, TrainState *state, GError **error);

/* Writes a checksum as 16 hexadecimal digits. */
void checkpoint_hex(uint64_t hash, char hex[17]);
/* Adds the key "xxh3": the checksum of all other contents of state.json. */
void checkpoint_seal(json_t *root);
/* Removes the key "xxh3"; returns false if the checksum does not match the other contents. */
bool checkpoint_unseal(json_t *root);
