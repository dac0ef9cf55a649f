/* stored.h: the tensors that a checkpoint holds: parameters, optimizer states and FP8 scales, with one way to read and
 * write all three. Values are f32. */
#pragma once

#include "param/fp8.h"
#include "param/optim.h"
#include "param/shard.h"

typedef struct StoredTensor {
    ParamStore *params;   /* set if this is a parameter, else NULL */
    Optimizer *optimizer; /* set if this is an optimizer state, else NULL */
    Fp8Scales *fp8;       /* set if this is an FP8 state, else NULL; a checkpoint may lack FP8 states */
    int index;            /* index of the parameter or state in its owner */
    char *name;           /* owned */
    int64_t rows, cols;   /* cols 0 means a vector */
    Box part;             /* what this rank saves of it; perhaps no rows */
    Box held;             /* the rows that this rank wants of a checkpoint */
    float *values;        /* a copy of `part`, owned, that stored_read reads in place of the store; NULL means none */
    int64_t filled;       /* while a checkpoint is loaded: elements that were read so far */
} StoredTensor;

/* All parameters, then all states of the optimizer, then those of FP8 (each NULL means none), which rank 0 saves:
 * StoredTensor, owned by the array. */
GArray *stored_tensors(ParamStore *params, Optimizer *optimizer, Fp8Scales *fp8, int rank);
int64_t stored_count(const StoredTensor *stored); /* elements of all ranks together */
/* Reads this rank's part. */
void stored_read(const StoredTensor *stored, float *out);
/* Copies `from` into a box of the tensor. */
void stored_write(const StoredTensor *stored, const Box *box, const float *from);
