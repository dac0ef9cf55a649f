/* sum.h: adds the tensors of several ranks. */
#pragma once

#include "device/tensor.h"

/* out (n) = from[0] + from[1] + … + from[ranks - 1], added in this order: in f64 for f64, in f32 for every other dtype,
 * and rounded once. All arrays have n elements of `dtype`; out may be one of the addends. */
void sum_in_order(void *out, const void *const *from, int ranks, int64_t n, DType dtype);
