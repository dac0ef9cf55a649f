/* total.h: the sum of a function of every lot of a tensor, in double, by one launch. */
#pragma once

#include "device/cuda/kernels/reduce.h"
#include "device/cuda/kernels/view.h"

enum { TOTAL_THREADS = 256, TOTAL_BLOCKS = 512 };

struct TotalShared {
    Parts<double> parts;
    unsigned ticket;
};

/* out = beta · out + Σ function(row, col, n); partial (gridDim.x). */
template <class Function>
static __global__ void __launch_bounds__(TOTAL_THREADS)
    total_kernel(int64_t rows, int64_t cols, Function function, double *partial, unsigned *ticket, double *out,
                 float beta)
{
    TotalShared *shared = block_shared<TotalShared>();
    int64_t lots = ceil_div(cols, LOT), n = rows * lots, step = (int64_t)gridDim.x * TOTAL_THREADS;
    double sum = 0;
    for (int64_t i = (int64_t)blockIdx.x * TOTAL_THREADS + threadIdx.x; i < n; i += step) {
        int64_t row = rows == 1 ? 0 : i / lots, col = (i - row * lots) * LOT;
        sum += function(row, col, lot(cols, col));
    }
    sum = row_sum(sum, &shared->parts);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
    if (!last_block(ticket, gridDim.x, &shared->ticket))
        return;
    sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += TOTAL_THREADS)
        sum += ((volatile double *)partial)[i];
    sum = row_sum(sum, &shared->parts);
    if (threadIdx.x == 0)
        *out = beta == 0 ? sum : (double)beta * *out + sum;
}

template <class Function>
static void total(Device *dev, int64_t rows, int64_t cols, Function function, double *out, float beta)
{
    Gpu *gpu = gpu_of(dev);
    int64_t blocks = ceil_div(rows * ceil_div(cols, LOT), TOTAL_THREADS);
    blocks = least(blocks < 1 ? 1 : blocks, TOTAL_BLOCKS);
    double *partial = (double *)gpu_scratch(gpu, TOTAL_BLOCKS * sizeof(double));
    launch(gpu, { (unsigned)blocks, 1, TOTAL_THREADS, 1 }, total_kernel<Function>, rows, cols, function, partial,
           gpu_tickets(gpu), out, beta);
}
