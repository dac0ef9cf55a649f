/* grads.h: computes the gradient norm without a separate wait for the device. */
#pragma once

#include "param/param.h"

/* Queues the device's part of grads_norm (param.h). Other downloads may be queued behind it; grads_norm, called
 * afterwards, returns the result. So one wait for the device serves the norm and those downloads. */
void grads_norm_begin(ParamStore *store);

/* The gradient of a parameter; NO_TENSOR if this rank keeps only a part of it. */
Tensor grads_tensor(const ParamStore *store, int index);
/* Starts to reduce the buckets that have tied parameters over the ranks, after the caller has summed their gradients
 * over the stages of the pipeline. These buckets wait for this call instead of their last contribution. */
void grads_reduce_tied(ParamStore *store);
