/* norm.c: RMSNorm and LayerNorm, forward and backward of a row (token) at a time. RMSNorm has no mean. */
#include "device/cpu/kernels/fold.h"

#include <math.h>

static float mean_of(const float *x, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += x[c];
    return sum / (float)n;
}

/* mean((x - mean)²): the difference of mean square and squared mean would cancel. */
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
        float *out = row_of(y, i), m = tensor_present(mean) ? mean_of(in, width) : 0.0f;
        float r = 1.0f / sqrtf(variance_of(in, m, width) + eps);
        if (tensor_present(mean))
            ((float *)mean.p)[i] = m;
        ((float *)rstd.p)[i] = r;
        if (bias) {
            SIMD for (int64_t c = 0; c < width; c++) out[c] = (in[c] - m) * r * weight[c] + bias[c];
        } else {
            SIMD for (int64_t c = 0; c < width; c++) out[c] = (in[c] - m) * r * weight[c];
        }
    }
}

void KERNEL(rmsnorm_fwd)(Device *dev, Tensor y, Tensor rstd, Tensor x, Tensor w, float eps)
{
    KERNEL(layernorm_fwd)(dev, y, NO_TENSOR, rstd, x, w, NO_TENSOR, eps);
}

typedef struct Row {
    const float *dy, *x, *w, *residual;
    float mean, rstd;
} Row;

/* RMSNorm: dx = residual + rstd·dy·w − x·rstd³·mean(dy·w·x); dw += dy·x·rstd. */
static void rms_row(float *dx, float *dw, Row row, int64_t n)
{
    float back = 0;
#pragma omp simd reduction(+ : back)
    for (int64_t c = 0; c < n; c++)
        back += row.dy[c] * row.w[c] * row.x[c];
    back = back * row.rstd * row.rstd * row.rstd / (float)n;
    SIMD for (int64_t c = 0; c < n; c++)
    {
        float d = row.dy[c] * row.rstd;
        dw[c] += d * row.x[c];
        dx[c] = d * row.w[c] - row.x[c] * back + (row.residual ? row.residual[c] : 0.0f);
    }
}

/* LayerNorm, x̂ = (x − mean)·rstd: dx = residual + rstd·(dy·w − mean(dy·w) − x̂·mean(dy·w·x̂)); dw += dy·x̂; db += dy. */
static void layer_row(float *dx, float *dw, float *db, Row row, int64_t n)
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

/* d[c] = beta d[c] + the total of column first + c of the fold, for c in cols. */
static void add_totals(Tensor d, float beta, Fold fold, int64_t first, Range cols)
{
    for (int64_t c = cols.begin; tensor_present(d) && c < cols.end; c++) {
        float *p = (float *)d.p + c;
        double total = fold_total(fold, first + c, omp_get_num_threads());
        *p = (float)(total + (beta == 0.0f ? 0.0 : (double)beta * (double)*p));
    }
}

void KERNEL(layernorm_bwd)(Device *dev, Tensor dx, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w, Tensor mean,
                           Tensor rstd, Tensor residual, float beta)
{
    int64_t width = x.d[1], n = tensor_present(mean) ? 2 * width : width;
    Fold fold = { cpu_workspace(dev, fold_bytes(n, dev->threads)), n };
#pragma omp parallel num_threads(team(dev, tensor_count(x)))
    {
        Range rows = share(x.d[0], 1), cols = share(width, 16);
        float *part = fold_begin(fold);
        for (int64_t i = rows.begin; i < rows.end; i++) {
            Row row = { .dy = row_of(dy, i),
                        .x = row_of(x, i),
                        .w = w.p,
                        .residual = tensor_present(residual) ? row_of(residual, i) : NULL,
                        .rstd = ((const float *)rstd.p)[i] };
            if (tensor_present(mean)) {
                row.mean = ((const float *)mean.p)[i];
                layer_row(row_of(dx, i), part, part + width, row, width);
            } else {
                rms_row(row_of(dx, i), part, row, width);
            }
            fold_row(fold, part, i, rows);
        }
#pragma omp barrier
        add_totals(dw, beta, fold, 0, cols);
        add_totals(db, beta, fold, width, cols);
    }
}

void KERNEL(rmsnorm_bwd)(Device *dev, Tensor dx, Tensor dw, Tensor dy, Tensor x, Tensor w, Tensor rstd, Tensor residual,
                         float beta)
{
    KERNEL(layernorm_bwd)(dev, dx, dw, NO_TENSOR, dy, x, w, NO_TENSOR, rstd, residual, beta);
}
