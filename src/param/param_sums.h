/* param_sums.h: sums over the elements of single parameters, from which norms of layers and of the model are made. */
#pragma once

#include "param/shard.h"

/* Sums over the elements that this rank saves in checkpoints (params_part), so that the sums over all ranks count every
 * element of the model once. */
typedef struct ParamSums {
    double weights, gradients; /* sum of the squares of master weights; sum of the squares of gradients */
    double zeros;              /* number of gradients that are 0 */
} ParamSums;

/* Adds the sums of one parameter to *sums. To be called between a step and the next grads_begin; the gradients are
 * those of the whole step, still multiplied by the loss scale. Copies the tensors to the host and waits for the device.
 * A frozen parameter has no gradients. */
void param_sums_add(ParamStore *store, int index, ParamSums *sums);
