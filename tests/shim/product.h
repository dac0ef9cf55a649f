/* product.h: a matrix product by plain loops. */
#pragma once

#include "device/tensor.h"

/* y = alpha · op(a) op(b) + bias + beta · y, summed in double; bias (cols of y), or NO_TENSOR, is rounded to
 * `bias_dtype` first, as cuBLASLt takes it. ta, tb: op transposes. */
void shim_product(Tensor y, Tensor a, Tensor b, Tensor bias, DType bias_dtype, bool ta, bool tb, double alpha,
                  double beta);
