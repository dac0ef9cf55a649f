/* sum.h: sums over the ranks of a group. */
#pragma once

#include "device/tensor.h"

/* out (n) = from[0] + from[1] + … + from[ranks - 1], added in that order: f64 in f64, every other dtype in f32, which
 * is rounded once. out may be one of the addends. */
void sum_in_order(void *out, const void *const *from, int ranks, int64_t n, DType dtype);
