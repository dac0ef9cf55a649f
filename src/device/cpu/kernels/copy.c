/* copy.c: filling and copying, with casts. */
#include "device/cast.h"
#include "device/cpu/kernels/rows.h"

enum { CHUNK = 256 };

static void *copied_element(Tensor t, int64_t offset)
{
    return (char *)t.p + (size_t)offset * dtype_bytes(t.dtype);
}

void KERNEL(fill)(Device *dev, Tensor x, double value)
{
    double values[CHUNK], cast[CHUNK]; /* double is at least as large as any dtype */
    DType dtype = x.dtype;
    Runs runs = runs_of(&x, 1);
    for (int i = 0; i < CHUNK; i++)
        values[i] = value;
    cast_store(cast, dtype, values, CHUNK);
#pragma omp parallel for num_threads(team(dev, runs.work)) schedule(static)
    for (int64_t i = 0; i < runs.n; i++)
        for (int64_t first = 0, n = run_length(runs, i); first < n; first += CHUNK)
            memcpy(copied_element(x, run_row(runs, i) * x.ld + run_first(runs, i) + first), cast,
                   (size_t)min_i64(CHUNK, n - first) * dtype_bytes(dtype));
}

void KERNEL(copy)(Device *dev, Tensor y, Tensor x)
{
    Runs runs = runs_of((const Tensor[]){ y, x }, 2);
#pragma omp parallel for num_threads(team(dev, runs.work)) schedule(static)
    for (int64_t i = 0; i < runs.n; i++) {
        int64_t row = run_row(runs, i), first = run_first(runs, i);
        if (row_knows(y) && row_knows(x))
            row_copy(y, row, x, row, first, run_length(runs, i));
        else
            cast_numbers(copied_element(y, row * y.ld + first), y.dtype, copied_element(x, row * x.ld + first), x.dtype,
                         run_length(runs, i));
    }
}
