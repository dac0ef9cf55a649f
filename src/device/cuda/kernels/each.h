/* each.h: calls function(row, first column, number of columns) for each vector of 8 consecutive columns of a tensor;
 * each thread takes one vector at a time. */
#pragma once

#include "device/cuda/kernels/view.h"

template <class Function> static __global__ void each_vec_kernel(int64_t rows, int64_t cols, Function function)
{
    begin_kernel();
    int64_t col = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * VEC;
    if (col >= cols)
        return;
    int64_t step = (int64_t)gridDim.y * blockDim.y;
    for (int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; row < rows; row += step)
        function(row, col, vec_length(cols, col));
}

enum { EACH_THREADS = 256 };

/* The grid: consecutive threads take consecutive vectors of a row, then of the next rows. A row of more vectors than a
 * block has threads is divided evenly, so that few threads are idle. */
static inline Shape each_shape(int64_t rows, int64_t cols)
{
    enum { MOST_Y = 65535 };
    int64_t vectors = ceil_div(cols, VEC), chunks = ceil_div(vectors, EACH_THREADS), x = 1;
    while (x < vectors && x < WARP)
        x *= 2;
    if (vectors > WARP)
        x = ceil_div(ceil_div(vectors, chunks), WARP) * WARP;
    int64_t y = EACH_THREADS / x, blocks = ceil_div(rows, y);
    return { (unsigned)chunks, (unsigned)least(blocks, MOST_Y), (unsigned)x, (unsigned)y };
}

/* Calls the function for all vectors of a tensor (rows, cols). */
template <class Function> static void each_vec_of(Gpu *gpu, int64_t rows, int64_t cols, Function function)
{
    if (rows > 0 && cols > 0)
        launch(gpu, each_shape(rows, cols), each_vec_kernel<Function>, rows, cols, function);
}

/* Calls the function for all vectors of a tensor with the shape of `t`. */
template <class Function> static void each_vec(Device *dev, Tensor t, Function function)
{
    each_vec_of(gpu_of(dev), rows_of(t), cols_of(t), function);
}
