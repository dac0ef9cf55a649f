/* grads.h: what a step does with all gradients of a bucket: sums over ranks, and the norm. */
#pragma once

#include "param/param.h"

/* Queues the work of grads_norm (param.h), which is then called after the device has been waited for: so one wait
 * serves for the norm and for what is downloaded after it. */
void grads_norm_begin(ParamStore *store);
/* All gradients of a bucket as one vector; NO_TENSOR where it has none. */
Tensor grads_of_bucket(ParamStore *store, int bucket);
