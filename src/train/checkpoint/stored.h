/* stored.h: the tensors that a checkpoint holds: parameters, the states of an optimizer, the scales of FP8. Values are
 * f32; a write may cover a Box, a rectangular part. */
#pragma once

#include "param/fp8.h"
#include "param/optim.h"

typedef struct StoredTensor {
    ParamStore *params;   /* of a parameter, else NULL */
    Optimizer *optimizer; /* of a state of the optimizer, else NULL */
    Fp8Scales *fp8;       /* of a state of FP8, else NULL. It may be missing in a checkpoint */
    int index;            /* of the parameter, or of the state */
    char *name;           /* owned */
    int64_t rows, cols;   /* cols 0 means a vector */
    float *values;        /* a copy, owned, that stored_read reads in place of the store; NULL means none */
    int64_t filled;       /* while a checkpoint is loaded: elements that were read so far */
} StoredTensor;

/* All parameters, then all states of the optimizer, then those of FP8 (each NULL means none): StoredTensor, owned by
 * the array. */
GArray *stored_tensors(ParamStore *params, Optimizer *optimizer, Fp8Scales *fp8);
int64_t stored_count(const StoredTensor *stored); /* elements */
/* Reads the whole tensor (rows × cols). */
void stored_read(const StoredTensor *stored, float *out);
void stored_write(const StoredTensor *stored, const Box *box, const float *from);
