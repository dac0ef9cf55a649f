/* stored.h: the tensors that a checkpoint holds: parameters, optimizer states and FP8 scales, with one way to read and
 * write all three. Values are f32. */
#pragma once

#include "param/fp8.h"
#include "param/optim.h"

typedef struct StoredTensor {
    ParamStore *params;   /* set if this is a parameter, else NULL */
    Optimizer *optimizer; /* set if this is an optimizer state, else NULL */
    Fp8Scales *fp8;       /* set if this is an FP8 state, else NULL; a checkpoint may lack FP8 states */
    int index;            /* index of the parameter or state in its owner */
    char *name;           /* owned */
    int64_t rows, cols;   /* cols 0 means a vector */
    float *values;        /* owned copy, from which stored_read reads if it is not NULL */
    int64_t filled;       /* while a checkpoint is loaded: number of elements read so far */
} StoredTensor;

/* Lists all parameters, then all optimizer states, then all FP8 states; an argument NULL means none. Elements are
 * StoredTensor, owned by the array. */
GArray *stored_tensors(ParamStore *params, Optimizer *optimizer, Fp8Scales *fp8);
int64_t stored_count(const StoredTensor *stored); /* number of elements */
/* Copies the whole tensor (rows × cols) to `out`. */
void stored_read(const StoredTensor *stored, float *out);
/* Copies `from` into a box of the tensor. */
void stored_write(const StoredTensor *stored, const Box *box, const float *from);
