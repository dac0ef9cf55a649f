/* param_sums.h: sums over the elements of single parameters, from which norms of layers and of the model are made. */
#pragma once

#include "param/shard.h"

/* Sums over the elements that this rank saves in checkpoints (params_part): over all ranks each element counts once. */
typedef struct ParamSums {
    double weights, gradients; /* sum of the squares of master weights; sum of the squares of gradients */
    double zeros;              /* number of gradients that are 0 */
} ParamSums;

/* Adds the sums of one parameter to *sums, between a step and the next grads_begin. The gradients are the whole step's,
 * still times the loss scale; a frozen parameter has none. Copies tensors to the host and waits for the device. */
void param_sums_add(ParamStore *store, int index, ParamSums *sums);
