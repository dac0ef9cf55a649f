/* attention_outside.h: results of attention for tokens that belong to no sequence are zeros. */
#pragma once

#include "device/cuda/kernels/each.h"

/* A function for each_vec (each.h) that sets the rows of x for tokens that belong to no sequence to zero. */
struct ClearOutside {
    View x;
    const int32_t *cu;
    int n_seq;
    bool columns; /* true: the columns of x are tokens; false: its rows are */
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        int64_t begin = cu[0], end = cu[n_seq];
        for (int i = 0; i < n; i++) {
            int64_t token = columns ? col + i : row;
            if (token < begin || token >= end)
                store_one(x, row, col + i, 0);
        }
    }
};

/* Sets the rows of x, or its columns, for tokens that belong to no sequence to zero. Sequences that cover all tokens,
 * as those of packed batches do, need no kernel for it. */
static inline void clear_outside(Device *dev, Tensor x, BothSides cu, int n_seq, bool columns)
{
    if (cu.host[0] > 0 || cu.host[n_seq] < (columns ? cols_of(x) : rows_of(x)))
        each_vec(dev, x, ClearOutside{ view(x), cu.device, n_seq, columns });
}
