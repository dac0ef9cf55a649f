/* reduce.c: sums over rows, tensors and passes. */
#include "device/cpu/kernels/rows.h"

enum { CHUNK = 256 };

ONE_LOOP static void add_to_sums(double *sum, const float *x, int64_t n)
{
    SIMD for (int64_t c = 0; c < n; c++) sum[c] += (double)x[c];
}

ONE_LOOP static void add_sum(double *sum, const float *a, const float *b, const float *c, const float *d, int64_t n)
{
    SIMD for (int64_t i = 0; i < n; i++) sum[i] += (double)(a[i] + b[i] + (c[i] + d[i]));
}

enum { ADDED = 4 };

/* sum[c] += Σ over the rows of x, for columns [begin, end); `step`, 1 or ADDED, rows are added in f32 first. */
static void add_rows(double *sum, Tensor x, Range cols, int64_t step)
{
    for (int64_t i = 0; i < x.d[0]; i += step)
        for (int64_t first = cols.begin; first < cols.end; first += CHUNK) {
            ALIGNED float buffer[ADDED][CHUNK];
            int64_t n = min_i64(CHUNK, cols.end - first), more = min_i64(step, x.d[0] - i);
            const float *rows[ADDED];
            double *part = sum + first;
            for (int64_t k = 0; k < more; k++)
                rows[k] = row_read(buffer[k], x, i + k, first, n);
            for (int64_t k = more; k < step; k++)
                rows[k] = memset(buffer[k], 0, (size_t)n * sizeof(float));
            if (step == 1)
                add_to_sums(part, rows[0], n);
            else
                add_sum(part, rows[0], rows[1], rows[2], rows[3], n);
        }
}

/* Each thread has some columns, so the order of the sums does not depend on the number of threads. */
static void sum_columns(Device *dev, double *sum, Tensor x, float beta, int64_t step)
{
#pragma omp parallel num_threads(team(dev, tensor_count(x)))
    {
        Range cols = share(x.d[1], 32);
        for (int64_t c = cols.begin; c < cols.end; c++)
            sum[c] = beta == 0.0f ? 0.0 : (double)beta * sum[c];
        add_rows(sum, x, cols, step);
    }
}

void KERNEL(sum_rows)(Device *dev, Tensor out, Tensor x, float beta)
{
    sum_columns(dev, out.p, x, beta, 1);
}

/* f32 has 16 or 13 bits more than numbers of bf16 or f16, so some of them are added without double. */
void KERNEL(column_sums)(Device *dev, Tensor db, Tensor dy, float beta)
{
    Tensor sum = tensor_vector(cpu_workspace(dev, (size_t)dy.d[1] * sizeof(double)), DT_F64, dy.d[1]);
    if (beta != 0.0f)
        KERNEL(copy)(dev, sum, db);
    sum_columns(dev, sum.p, dy, beta, dy.dtype == DT_F32 ? 1 : ADDED);
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

/* Vectors of doubles of the instruction set's width, and as many floats. */
#ifdef __AVX512F__
enum { WIDTH = 8 };
#elif defined __AVX2__
enum { WIDTH = 4 };
#else
enum { WIDTH = 2 };
#endif
typedef float Floats __attribute__((vector_size(4 * WIDTH)));
typedef double Doubles __attribute__((vector_size(8 * WIDTH)));

/* One cache line at a time, prefetching SUMSQ_AHEAD numbers ahead. Vectors are written explicitly, since the compiler
 * does not vectorise a sum in a loop that prefetches. */
static double run_sumsq(const float *x, int64_t n)
{
    enum { SUMSQ_AHEAD = 1024 };
    Doubles sums[LINE / WIDTH] = { 0 }, all = { 0 };
    double sum = 0;
    int64_t i = 0;
    for (; i + LINE <= n; i += LINE) {
        __builtin_prefetch(x + i + SUMSQ_AHEAD);
        for (int k = 0; k < LINE / WIDTH; k++) {
            Floats floats;
            memcpy(&floats, x + i + k * WIDTH, sizeof floats);
            Doubles doubles = __builtin_convertvector(floats, Doubles);
            sums[k] += doubles * doubles;
        }
    }
    for (int k = 0; k < LINE / WIDTH; k++)
        all += sums[k];
    for (int c = 0; c < WIDTH; c++)
        sum += all[c];
    for (; i < n; i++)
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
        ALIGNED float buffer[RUN_LENGTH];
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
