/* move.c: filling and copying, with casts. */
#include "base/float16.h"
#include "device/cpu/kernels/kernels.h"

#include <string.h>

enum { CHUNK = 256 };

#define EACH(type, expression)                                                                                         \
    {                                                                                                                  \
        type *p = memory;                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                                                \
            expression;                                                                                                \
        break;                                                                                                         \
    }

static void load(double *values, void *memory, DType dtype, int64_t n)
{
    switch (dtype) {
    case DT_F32:
        EACH(float, values[i] = (double)p[i])
    case DT_BF16:
        EACH(uint16_t, values[i] = (double)bf16_to_f32(p[i]))
    case DT_F16:
        EACH(uint16_t, values[i] = (double)f16_to_f32(p[i]))
    case DT_F64:
        EACH(double, values[i] = p[i])
    case DT_I32:
        EACH(int32_t, values[i] = (double)p[i])
    case DT_I64:
        EACH(int64_t, values[i] = (double)p[i])
    case DT_COUNT:
        break;
    }
}

static void store(void *memory, DType dtype, const double *values, int64_t n)
{
    switch (dtype) {
    case DT_F32:
        EACH(float, p[i] = (float)values[i])
    case DT_BF16:
        EACH(uint16_t, p[i] = bf16_from_f32((float)values[i]))
    case DT_F16:
        EACH(uint16_t, p[i] = f16_from_f32((float)values[i]))
    case DT_F64:
        EACH(double, p[i] = values[i])
    case DT_I32:
        EACH(int32_t, p[i] = (int32_t)values[i])
    case DT_I64:
        EACH(int64_t, p[i] = (int64_t)values[i])
    case DT_COUNT:
        break;
    }
}

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
            store(element(x, run_offset(runs, x, i) + first), (DType)x.dtype, values, min_i64(CHUNK, n - first));
}

static void copy_run(Tensor y, int64_t to, Tensor x, int64_t from, int64_t n)
{
    double values[CHUNK];
    if (y.dtype == x.dtype) {
        memcpy(element(y, to), element(x, from), (size_t)n * dtype_bytes((DType)x.dtype));
        return;
    }
    for (int64_t first = 0; first < n; first += CHUNK) {
        int64_t count = min_i64(CHUNK, n - first);
        load(values, element(x, from + first), (DType)x.dtype, count);
        store(element(y, to + first), (DType)y.dtype, values, count);
    }
}

void KERNEL(copy)(Device *dev, Tensor y, Tensor x)
{
    Runs runs = runs_of((const Tensor[]){ y, x }, 2);
#pragma omp parallel for num_threads(team(dev, runs.work)) schedule(static)
    for (int64_t i = 0; i < runs.n; i++)
        copy_run(y, run_offset(runs, y, i), x, run_offset(runs, x, i), run_length(runs, i));
}
