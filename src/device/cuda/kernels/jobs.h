/* jobs.h: one kernel launch for several tensors. A Job is a struct that describes the work on one tensor; a range of
 * consecutive thread blocks works on each job. The number of blocks of a job depends only on the shape of its tensor,
 * so its result does not depend on the other jobs of the launch. */
#pragma once

#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/view.h"

/* The jobs of one launch. */
template <class Job> struct Jobs {
    int n;
    unsigned first[MOST_JOBS + 1];            /* first block of job j; first[n] is the number of blocks of all jobs */
    int64_t rows[MOST_JOBS], cols[MOST_JOBS]; /* shape of the tensor of each job */
    Job of[MOST_JOBS];

    /* The number of blocks of all jobs. */
    unsigned blocks(void) const
    {
        return n ? first[n] : 0;
    }

    /* Adds a job for a tensor (rows, cols) that needs `job_blocks` blocks. */
    void add(const Job &job, int64_t job_rows, int64_t job_cols, int64_t job_blocks)
    {
        CHECK(n < MOST_JOBS && job_blocks > 0 && job_blocks < (int64_t)INT32_MAX - blocks(), "%d jobs, %lld blocks", n,
              (long long)job_blocks);
        rows[n] = job_rows;
        cols[n] = job_cols;
        of[n] = job;
        first[n + 1] = blocks() + (unsigned)job_blocks;
        n++;
    }

    /* The index of the job that a block works on. */
    __device__ int find(unsigned block) const
    {
        int j = 0;
        while (block >= first[j + 1])
            j++;
        return j;
    }
};

/* An empty list of jobs. */
template <class Job> static inline Jobs<Job> no_jobs(void)
{
    static_assert(sizeof(Jobs<Job>) <= MOST_PARAMETERS - 64, "more parameters than a kernel may have");
    Jobs<Job> jobs;
    memset((void *)&jobs, 0, sizeof jobs);
    return jobs;
}

/* JOB_VECS: number of vectors of 8 columns that a block processes. */
enum { JOB_THREADS = 256, JOB_VECS = 4 * JOB_THREADS };

/* Kernel that executes jobs. Job is a struct with
 *   BLOCKS                                  smallest number of blocks per SM that must fit in its registers
 *   Factors                                 struct of numbers that are the same for the whole tensor
 *   factors()                               computes the Factors, once per block
 *   operator()(factors, row, col, n)        processes n columns of a row, from col on */
template <class Job>
static __global__ void __launch_bounds__(JOB_THREADS, Job::BLOCKS) jobs_kernel(const __grid_constant__ Jobs<Job> jobs)
{
    begin_kernel();
    typedef typename Job::Factors Factors;
    Factors *shared = block_shared<Factors>();
    int j = jobs.find(blockIdx.x);
    const Job job = jobs.of[j];
    if (threadIdx.x == 0)
        *shared = job.factors();
    __syncthreads();
    const Factors factors = *shared;
    int64_t rows = jobs.rows[j], cols = jobs.cols[j], vectors = ceil_div(cols, VEC);
    int64_t first = (int64_t)(blockIdx.x - jobs.first[j]) * JOB_VECS + threadIdx.x;
    int64_t end = least((int64_t)(blockIdx.x - jobs.first[j] + 1) * JOB_VECS, rows * vectors);
    for (int64_t i = first; i < end; i += JOB_THREADS) {
        int64_t row = rows == 1 ? 0 : i / vectors, col = (i - row * vectors) * VEC;
        job(factors, row, col, vec_length(cols, col));
    }
}

/* Adds a job for a tensor with the shape of `t`. */
template <class Job> static void jobs_add(Jobs<Job> *jobs, Tensor t, const Job &job)
{
    int64_t rows = rows_of(t), cols = cols_of(t);
    if (rows > 0 && cols > 0)
        jobs->add(job, rows, cols, ceil_div(rows * ceil_div(cols, VEC), JOB_VECS));
}

/* Launches the kernel for all jobs; does nothing without jobs. */
template <class Job> static void jobs_run(Device *dev, const Jobs<Job> &jobs)
{
    if (jobs.n > 0)
        launch(gpu_of(dev), { jobs.blocks(), 1, JOB_THREADS, 1 }, jobs_kernel<Job>, jobs);
}

/* If all of these tensors, which have one shape, are contiguous, makes each of them a vector (a single row). */
template <size_t COUNT> static inline void flatten(Tensor (&tensors)[COUNT])
{
    for (const Tensor &t : tensors)
        if (t.rank != 0 && rows_of(t) > 1 && t.ld != cols_of(t))
            return;
    for (Tensor &t : tensors)
        if (t.rank == 2)
            t.rank = 1, t.d[0] = t.ld = t.d[0] * t.d[1];
}
