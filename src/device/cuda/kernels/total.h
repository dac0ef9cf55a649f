/* total.h: sums a function over all vectors of 8 columns of a tensor, in double; one launch sums several tensors. */
#pragma once

#include "device/cuda/kernels/jobs.h"
#include "device/cuda/kernels/reduce.h"

struct TotalShared {
    PerWarp<double> parts;
    unsigned ticket;
};

/* The job of one tensor: *out = beta · *out + Σ function(row, col, n), where n is the number of columns of a vector. */
template <class Function> struct Total {
    Function function;
    double *out;
    float beta;
};

/* Executes the jobs. partial: scratch for one sum per block; tickets: one per job (last_block in reduce.h). */
template <class Function>
static __global__ void __launch_bounds__(TOTAL_THREADS)
    totals_kernel(const __grid_constant__ Jobs<Total<Function>> jobs, double *partial, unsigned *tickets)
{
    begin_kernel();
    TotalShared *shared = block_shared<TotalShared>();
    int j = jobs.find(blockIdx.x);
    const Total<Function> total = jobs.of[j];
    unsigned first = jobs.first[j], blocks = jobs.first[j + 1] - first;
    int64_t rows = jobs.rows[j], cols = jobs.cols[j], vectors = ceil_div(cols, VEC), n = rows * vectors;
    double sum = 0;
    for (int64_t i = (int64_t)(blockIdx.x - first) * TOTAL_THREADS + threadIdx.x; i < n;
         i += (int64_t)blocks * TOTAL_THREADS) {
        int64_t row = rows == 1 ? 0 : i / vectors, col = (i - row * vectors) * VEC;
        sum += total.function(row, col, vec_length(cols, col));
    }
    sum = row_sum(sum, &shared->parts);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
    if (!last_block(tickets + j, blocks, &shared->ticket))
        return;
    sum = 0;
    for (unsigned i = threadIdx.x; i < blocks; i += TOTAL_THREADS)
        sum += ((volatile double *)partial)[first + i];
    sum = row_sum(sum, &shared->parts);
    if (threadIdx.x == 0)
        *total.out = total.beta == 0 ? sum : (double)total.beta * *total.out + sum;
}

/* Adds a job: the sum over a tensor with the shape of `t`, which may be empty. */
template <class Function>
static void totals_add(Jobs<Total<Function>> *jobs, Tensor t, const Function &function, double *out, float beta)
{
    jobs->add({ function, out, beta }, rows_of(t), cols_of(t), scratch_total_blocks(rows_of(t), cols_of(t)));
}

/* Launches the kernel for all jobs; does nothing without jobs. */
template <class Function> static void totals_run(Device *dev, const Jobs<Total<Function>> &jobs)
{
    Gpu *gpu = gpu_of(dev);
    double *partial = (double *)gpu_scratch(gpu, (size_t)jobs.blocks() * sizeof(double));
    if (jobs.n > 0)
        launch(gpu, { jobs.blocks(), 1, TOTAL_THREADS, 1 }, totals_kernel<Function>, jobs, partial, gpu_tickets(gpu));
}
