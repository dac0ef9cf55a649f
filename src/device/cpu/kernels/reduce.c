/* reduce.c: sums over rows, tensors and passes. */
#include "device/cpu/kernels/rows.h"

enum { CHUNK = 256 };

/* sum[c] += Σ over the rows of x, for columns [begin, end). */
static void add_rows(double *sum, Tensor x, Range cols)
{
    float buffer[CHUNK];
    for (int64_t i = 0; i < x.d[0]; i++)
        for (int64_t first = cols.begin; first < cols.end; first += CHUNK) {
            int64_t n = min_i64(CHUNK, cols.end - first);
            const float *row = row_read(buffer, x, i, first, n);
            double *part = sum + first;
            SIMD for (int64_t c = 0; c < n; c++) part[c] += (double)row[c];
        }
}

/* Each thread owns some columns, so the order of the sums does not depend on the number of threads. */
void KERNEL(sum_rows)(Device *dev, Tensor out, Tensor x, float beta)
{
    double *sum = out.p;
#pragma omp parallel num_threads(team(dev, tensor_count(x)))
    {
        Range cols = share(x.d[1], 32);
        for (int64_t c = cols.begin; c < cols.end; c++)
            sum[c] = beta == 0.0f ? 0.0 : (double)beta * sum[c];
        add_rows(sum, x, cols);
    }
}

void KERNEL(column_sums)(Device *dev, Tensor db, Tensor dy, float beta)
{
    Tensor sum = tensor_vector(cpu_workspace(dev, (size_t)dy.d[1] * sizeof(double)), DT_F64, dy.d[1]);
    if (beta != 0.0f)
        KERNEL(copy)(dev, sum, db);
    KERNEL(sum_rows)(dev, sum, dy, beta);
    KERNEL(copy)(dev, db, sum);
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
        float buffer[RUN_LENGTH];
        double sum = 0;
        for (int64_t i = mine.begin; i < mine.end; i++)
            for (int64_t at = 0, n = run_length(runs, i); at < n; at += RUN_LENGTH) {
                int64_t length = min_i64(RUN_LENGTH, n - at);
                sum += run_sumsq(row_read(buffer, x, run_row(runs, i), run_first(runs, i) + at, length), length);
            }
        partial[omp_get_thread_num()] = sum;
    }
    for (int t = 0; t < size; t++)
        total += partial[t];
    double *result = out.p;
    *result = total + (beta == 0.0f ? 0.0 : (double)beta * *result);
}
