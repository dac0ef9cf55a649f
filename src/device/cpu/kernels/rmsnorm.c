/* rmsnorm.c: forward and backward of a row (token) at a time; the sums of dw over rows belong to threads. */
#include "device/cpu/kernels/kernels.h"

#include <math.h>
#include <string.h>

static float sum_squares(const float *x, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += x[c] * x[c];
    return sum;
}

void KERNEL(rmsnorm_fwd)(Device *dev, Tensor y, Tensor rstd, Tensor x, Tensor w, float eps)
{
    int64_t width = x.d[1];
    const float *weight = w.p;
#pragma omp parallel for num_threads(team(dev, tensor_count(x))) schedule(static)
    for (int64_t i = 0; i < x.d[0]; i++) {
        const float *in = row_of(x, i);
        float *out = row_of(y, i), r = 1.0f / sqrtf(sum_squares(in, width) / (float)width + eps);
        ((float *)rstd.p)[i] = r;
        SIMD for (int64_t c = 0; c < width; c++) out[c] = in[c] * r * weight[c];
    }
}

/* Σ over c of dy·w·x: the derivative with respect to rstd. */
static float dot3(const float *dy, const float *w, const float *x, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += dy[c] * w[c] * x[c];
    return sum;
}

/* One row: dx = residual + rstd·dy·w − x·rstd³·mean(dy·w·x); dw += dy·x·rstd. */
static void bwd_row(float *dx, float *dw, const float *dy, const float *x, const float *w, float rstd,
                    const float *residual, int64_t n)
{
    float back = dot3(dy, w, x, n) * rstd * rstd * rstd / (float)n;
    SIMD for (int64_t c = 0; c < n; c++)
    {
        float d = dy[c] * rstd;
        dw[c] += d * x[c];
        dx[c] = d * w[c] - x[c] * back + (residual ? residual[c] : 0.0f);
    }
}

enum { FOLD_ROWS = 16 }; /* rows summed in f32 before they join the sum in double */

void KERNEL(rmsnorm_bwd)(Device *dev, Tensor dx, Tensor dw, Tensor dy, Tensor x, Tensor w, Tensor rstd, Tensor residual,
                         float beta)
{
    int64_t width = x.d[1];
    size_t sum_bytes = align64((size_t)width * sizeof(double)), part_bytes = align64((size_t)width * sizeof(float));
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * (sum_bytes + part_bytes));
#pragma omp parallel num_threads(team(dev, tensor_count(x)))
    {
        int size = omp_get_num_threads();
        double *sum = (double *)(workspace + (size_t)omp_get_thread_num() * sum_bytes);
        float *part = (float *)(workspace + (size_t)size * sum_bytes + (size_t)omp_get_thread_num() * part_bytes);
        Range rows = share(x.d[0], 1), cols = share(width, 16);
        memset(sum, 0, sum_bytes);
        for (int64_t i = rows.begin; i < rows.end; i += FOLD_ROWS) {
            memset(part, 0, part_bytes);
            for (int64_t r = i; r < min_i64(i + FOLD_ROWS, rows.end); r++)
                bwd_row(row_of(dx, r), part, row_of(dy, r), row_of(x, r), w.p, ((const float *)rstd.p)[r],
                        tensor_present(residual) ? row_of(residual, r) : NULL, width);
            for (int64_t c = 0; c < width; c++)
                sum[c] += (double)part[c];
        }
#pragma omp barrier
        for (int64_t c = cols.begin; c < cols.end; c++) {
            double total = 0;
            for (int t = 0; t < size; t++)
                total += ((const double *)(workspace + (size_t)t * sum_bytes))[c];
            float *d = (float *)dw.p + c;
            *d = (float)(total + (beta == 0.0f ? 0.0 : (double)beta * (double)*d));
        }
    }
}
