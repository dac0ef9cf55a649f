/* stored.h: the tensors that a checkpoint holds: parameters, and the states of an optimizer. Values are f32; a write
 * may cover a Box, a rectangular part. */
#pragma once

#include "param/optim.h"

typedef struct StoredTensor {
    ParamStore *params;
    Optimizer *optimizer; /* NULL means a parameter */
    int index;            /* of the parameter, or of the optimizer's state */
    char *name;           /* owned */
    int64_t rows, cols;   /* cols 0 means a vector */
    float *values;        /* a copy, owned, that stored_read reads in place of the store; NULL means none */
    int64_t filled;       /* while a checkpoint is loaded: elements that were read so far */
} StoredTensor;

/* All parameters (params NULL means none), then all states of the optimizer (NULL means none): StoredTensor, owned by
 * the array. */
GArray *stored_tensors(ParamStore *params, Optimizer *optimizer);
int64_t stored_count(const StoredTensor *stored); /* elements */
/* Reads the whole tensor (rows × cols). */
void stored_read(const StoredTensor *stored, float *out);
void stored_write(const StoredTensor *stored, const Box *box, const float *from);
