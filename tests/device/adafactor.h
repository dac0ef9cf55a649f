/* adafactor.h: one update of a whole tensor by Adafactor's operations. */
#pragma once

#include "device/device.h"

/* sums (3 + C) f64 is scratch. */
static inline void adafactor_update(Device *dev, Tensor sums, Tensor w, Tensor rounded, Tensor m, Tensor row,
                                    Tensor col, Tensor v, Tensor g, AdafactorSpec spec, const StepScalars *scalars)
{
    Tensor squares = tensor_slice_rows(sums, 0, 1), size = tensor_slice_rows(sums, 1, 1);
    Tensor row_sum = tensor_present(row) ? tensor_slice_rows(sums, 2, 1) : NO_TENSOR;
    Tensor col_sums = tensor_present(row) ? tensor_slice_rows(sums, 3, col.d[0]) : NO_TENSOR;
    spec.rows = tensor_rows(w);
    spec.cols = tensor_cols(w);
    spec.count = tensor_count(w);
    op_fill(dev, sums, 0);
    op_sumsq(dev, squares, w, 1);
    op_adafactor_moments(dev, row, col_sums, row_sum, v, g, &spec, scalars);
    if (tensor_present(row))
        op_adafactor_columns(dev, col, col_sums, &spec, scalars);
    op_adafactor_size(dev, size, row, col, row_sum, v, g, &spec, scalars);
    op_adafactor(dev, w, rounded, m, row, col, row_sum, v, g, squares, size, &spec, scalars);
}
