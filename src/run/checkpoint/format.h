/* format.h: what the writer and the reader of checkpoints share: the format of state.json, and the tensors. */
#pragma once

#include "run/checkpoint/checkpoint.h"

#define CHECKPOINT_FORMAT 1

/* A number of TrainState in state.json. `absent` is its value in older checkpoints that do not have it. */
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

/* ---- format.c: the tensors that a checkpoint holds: parameters, optimizer states and FP8 scales, with one way to read
 * and write all three. Values are f32. ---- */

typedef struct StoredTensor {
    ParamStore *params;   /* set if this is a parameter, else NULL */
    Optimizer *optimizer; /* set if this is an optimizer state, else NULL */
    Fp8Scales *fp8;       /* set if this is an FP8 state, else NULL; a checkpoint may lack FP8 states */
    int index;            /* index of the parameter or state in its owner */
    char *name;           /* owned */
    int64_t rows, cols;   /* cols 0 means a vector */
    Box part;             /* the part of the tensor that this rank saves; may have 0 rows */
    Box held;             /* the part that this rank reads from a checkpoint */
    float *values;  /* owned copy of `part`, which stored_read then reads instead of the store; NULL means no copy */
    int64_t filled; /* while a checkpoint is loaded: elements that were read so far */
} StoredTensor;

/* Lists (StoredTensor, owned by the array) all parameters, then all optimizer states, then all FP8 states. `part` of
 * the FP8 states is empty except on rank 0, which saves them. params, optimizer or fp8 NULL means none of that kind. */
GArray *stored_tensors(ParamStore *params, Optimizer *optimizer, Fp8Scales *fp8, int rank);
int64_t stored_count(const StoredTensor *stored); /* elements of the whole tensor */
/* Bytes of values that are copied at a time, so that neither saving nor loading needs a copy of a whole embedding. FP8
 * states are smaller, and are copied as a whole. */
#define STORED_PART_BYTES ((int64_t)16 << 20)

/* Copies rows [first, first + n) of this rank's part to `out`, as f32. */
void stored_read(const StoredTensor *stored, int64_t first, int64_t n, float *out);
/* Copies `from` into a box of the tensor. */
void stored_write(const StoredTensor *stored, const Box *box, const float *from);
