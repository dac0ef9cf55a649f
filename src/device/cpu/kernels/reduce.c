/* reduce.c: sums over rows, tensors and passes. */
#include "device/cpu/kernels/kernels.h"

/* Each thread owns some columns, so the order of the sums does not depend on the number of threads. */
void KERNEL(sum_rows)(Device *dev, Tensor out, Tensor x, float beta)
{
    double *sum = out.p;
#pragma omp parallel num_threads(team(dev, tensor_count(x)))
    {
        Range cols = share(x.d[1], 16);
        for (int64_t c = cols.begin; c < cols.end; c++)
            sum[c] = beta == 0.0f ? 0.0 : (double)beta * sum[c];
        for (int64_t i = 0; i < x.d[0]; i++) {
            const float *row = row_of(x, i);
            SIMD for (int64_t c = cols.begin; c < cols.end; c++) sum[c] += (double)row[c];
        }
    }
}

void KERNEL(column_sums)(Device *dev, Tensor db, Tensor dy, float beta)
{
    double *sum = cpu_workspace(dev, (size_t)dy.d[1] * sizeof *sum);
    float *d = db.p;
    for (int64_t c = 0; beta != 0.0f && c < dy.d[1]; c++)
        sum[c] = (double)d[c];
    KERNEL(sum_rows)(dev, tensor_vector(sum, DT_F64, dy.d[1]), dy, beta);
    for (int64_t c = 0; c < dy.d[1]; c++)
        d[c] = (float)sum[c];
}

void KERNEL(total_add)(Device *dev, Tensor out, Tensor x)
{
    (void)dev;
    double *sum = out.p;
    const double *more = x.p;
    for (int64_t c = 0; c < x.d[0]; c++)
        sum[c] += more[c];
}

static double run_sumsq(const float *x, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

void KERNEL(sumsq)(Device *dev, Tensor out, Tensor x, float beta)
{
    Runs runs = runs_of(&x, 1);
    int size = team(dev, runs.work);
    double *partial = cpu_workspace(dev, (size_t)size * sizeof *partial), total = 0;
#pragma omp parallel num_threads(size)
    {
        Range mine = share(runs.n, 1);
        double sum = 0;
        for (int64_t i = mine.begin; i < mine.end; i++)
            sum += run_sumsq(run_start(runs, x, i), run_length(runs, i));
        partial[omp_get_thread_num()] = sum;
    }
    for (int t = 0; t < size; t++)
        total += partial[t];
    double *result = out.p;
    *result = total + (beta == 0.0f ? 0.0 : (double)beta * *result);
}
