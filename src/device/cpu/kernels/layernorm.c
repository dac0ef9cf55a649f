/* layernorm.c: forward and backward of a row (token) at a time; the sums of dw and db over rows belong to threads. */
#include "device/cpu/kernels/kernels.h"

#include <math.h>
#include <string.h>

static float mean_of(const float *x, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += x[c];
    return sum / (float)n;
}

/* About the mean: the difference of mean square and squared mean would cancel. */
static float variance_of(const float *x, float mean, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += (x[c] - mean) * (x[c] - mean);
    return sum / (float)n;
}

void KERNEL(layernorm_fwd)(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor x, Tensor w, Tensor b, float eps)
{
    int64_t width = x.d[1];
    const float *weight = w.p, *bias = b.p;
#pragma omp parallel for num_threads(team(dev, tensor_count(x))) schedule(static)
    for (int64_t i = 0; i < x.d[0]; i++) {
        const float *in = row_of(x, i);
        float *out = row_of(y, i), m = mean_of(in, width), r = 1.0f / sqrtf(variance_of(in, m, width) + eps);
        ((float *)mean.p)[i] = m;
        ((float *)rstd.p)[i] = r;
        if (bias) {
            SIMD for (int64_t c = 0; c < width; c++) out[c] = (in[c] - m) * r * weight[c] + bias[c];
        } else {
            SIMD for (int64_t c = 0; c < width; c++) out[c] = (in[c] - m) * r * weight[c];
        }
    }
}

typedef struct Row {
    const float *dy, *x, *w, *residual;
    float mean, rstd;
} Row;

/* One row, x̂ = (x − mean)·rstd: dx = residual + rstd·(dy·w − mean(dy·w) − x̂·mean(dy·w·x̂)); dw += dy·x̂; db += dy. */
static void bwd_row(float *dx, float *dw, float *db, Row row, int64_t n)
{
    float flat = 0, tilted = 0;
#pragma omp simd reduction(+ : flat, tilted)
    for (int64_t c = 0; c < n; c++) {
        float g = row.dy[c] * row.w[c];
        flat += g;
        tilted += g * (row.x[c] - row.mean);
    }
    flat /= (float)n;
    tilted *= row.rstd / (float)n;
    SIMD for (int64_t c = 0; c < n; c++)
    {
        float normed = (row.x[c] - row.mean) * row.rstd, d = row.dy[c];
        dw[c] += d * normed;
        db[c] += d;
        dx[c] = row.rstd * (d * row.w[c] - flat - normed * tilted) + (row.residual ? row.residual[c] : 0.0f);
    }
}

enum { FOLD_ROWS = 16 }; /* rows summed in f32 before they join the sum in double */

/* The threads' sums (2,width) of columns [cols) into d. */
static void gather(Tensor d, float beta, const char *sums, size_t sum_bytes, int64_t offset, Range cols)
{
    for (int64_t c = cols.begin; tensor_present(d) && c < cols.end; c++) {
        double total = 0;
        for (int t = 0; t < omp_get_num_threads(); t++)
            total += ((const double *)(sums + (size_t)t * sum_bytes))[offset + c];
        float *p = (float *)d.p + c;
        *p = (float)(total + (beta == 0.0f ? 0.0 : (double)beta * (double)*p));
    }
}

void KERNEL(layernorm_bwd)(Device *dev, Tensor dx, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w, Tensor mean,
                           Tensor rstd, Tensor residual, float beta)
{
    int64_t width = x.d[1];
    size_t sum_bytes = align64((size_t)(2 * width) * sizeof(double)),
           part_bytes = align64((size_t)(2 * width) * sizeof(float));
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
            for (int64_t r = i; r < min_i64(i + FOLD_ROWS, rows.end); r++) {
                Row row = { row_of(dy, r),
                            row_of(x, r),
                            w.p,
                            tensor_present(residual) ? row_of(residual, r) : NULL,
                            ((const float *)mean.p)[r],
                            ((const float *)rstd.p)[r] };
                bwd_row(row_of(dx, r), part, part + width, row, width);
            }
            for (int64_t c = 0; c < 2 * width; c++)
                sum[c] += (double)part[c];
        }
#pragma omp barrier
        gather(dw, beta, workspace, sum_bytes, 0, cols);
        gather(db, beta, workspace, sum_bytes, width, cols);
    }
}
