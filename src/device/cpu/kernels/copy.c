/* copy.c: filling and copying, with casts. */
#include "device/cast.h"
#include "device/cpu/kernels/kernels.h"

enum { CHUNK = 256 };

static void *element(Tensor t, int64_t offset)
{
    return (char *)t.p + (size_t)offset * dtype_bytes((DType)t.dtype);
}

void KERNEL(fill)(Device *dev, Tensor x, double value)
{
    double values[CHUNK];
    Runs runs = runs_of(&x, 1);
    for (int i = 0; i < CHUNK; i++)
        values[i] = value;
#pragma omp parallel for num_threads(team(dev, runs.work)) schedule(static)
    for (int64_t i = 0; i < runs.n; i++)
        for (int64_t first = 0, n = run_length(runs, i); first < n; first += CHUNK)
            cast_store(element(x, run_offset(runs, x, i) + first), (DType)x.dtype, values, min_i64(CHUNK, n - first));
}

void KERNEL(copy)(Device *dev, Tensor y, Tensor x)
{
    Runs runs = runs_of((const Tensor[]){ y, x }, 2);
#pragma omp parallel for num_threads(team(dev, runs.work)) schedule(static)
    for (int64_t i = 0; i < runs.n; i++)
        cast_numbers(element(y, run_offset(runs, y, i)), (DType)y.dtype, element(x, run_offset(runs, x, i)),
                     (DType)x.dtype, run_length(runs, i));
}
