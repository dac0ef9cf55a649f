/* norm.c: RMSNorm and LayerNorm, forward and backward, one row (token) at a time; forward also with the residual sum
 * before it. RMSNorm has no mean. */
#include "device/cpu/kernels/fold.h"
#include "device/cpu/kernels/rows.h"
#include "device/cpu/mask.h"

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

/* Buffers of each thread in forward; behind those of all threads lie w and b. */
enum { FWD_X, FWD_RESIDUAL, FWD_MASK, FWD_SUM, FWD_Y, FWD_BUFFERS };

/* What is normed: the rows of x; or, if `sum` is present, those of residual + dropout(x), which become its rows. */
typedef struct Normed {
    Tensor x, sum, residual;
    const Dropout *drop;
} Normed;

/* Row i of the sum, rounded as it lies in memory, while it is in the cache. buffers: the calling thread's. */
static const float *sum_row(Tensor buffers, const Normed *of, int64_t i)
{
    int64_t width = of->x.d[1];
    const float *in = row_read(row_of(buffers, FWD_X), of->x, i, 0, width);
    const float *add = row_read(row_of(buffers, FWD_RESIDUAL), of->residual, i, 0, width);
    float *mask = row_of(buffers, FWD_MASK), *out = row_place(row_of(buffers, FWD_SUM), of->sum, i, 0);
    if (of->drop->rate > 0.0f) {
        MaskRow factors = mask_row(of->drop, i, 0);
        mask_fill(mask, &factors, of->drop->first_channel, width);
        SIMD for (int64_t c = 0; c < width; c++) out[c] = in[c] * mask[c] + add[c];
    } else {
        SIMD for (int64_t c = 0; c < width; c++) out[c] = in[c] + add[c];
    }
    row_write(of->sum, i, 0, width, out);
    return row_read(row_of(buffers, FWD_SUM), of->sum, i, 0, width);
}

static void norm_rows(Device *dev, Tensor y, Tensor mean, Tensor rstd, const Normed *of, Tensor w, Tensor b, float eps)
{
    int64_t width = y.d[1], shared = FWD_BUFFERS * dev->threads;
    Tensor buffers = row_buffers(cpu_workspace(dev, (size_t)(shared + 2) * row_bytes(width)), shared + 2, width);
    const float *weight = row_read(row_of(buffers, shared), w, 0, 0, width);
    const float *bias = tensor_present(b) ? row_read(row_of(buffers, shared + 1), b, 0, 0, width) : NULL;
#pragma omp parallel for num_threads(team(dev, tensor_count(y))) schedule(static)
    for (int64_t i = 0; i < y.d[0]; i++) {
        Tensor own = tensor_slice_rows(buffers, FWD_BUFFERS * omp_get_thread_num(), FWD_BUFFERS);
        const float *in =
            tensor_present(of->sum) ? sum_row(own, of, i) : row_read(row_of(own, FWD_X), of->x, i, 0, width);
        float *out = row_place(row_of(own, FWD_Y), y, i, 0);
        float m = tensor_present(mean) ? mean_of(in, width) : 0.0f;
        float r = 1.0f / sqrtf(variance_of(in, m, width) + eps);
        if (tensor_present(mean))
            ((float *)mean.p)[i] = m;
        ((float *)rstd.p)[i] = r;
        if (bias) {
            SIMD for (int64_t c = 0; c < width; c++) out[c] = (in[c] - m) * r * weight[c] + bias[c];
        } else {
            SIMD for (int64_t c = 0; c < width; c++) out[c] = (in[c] - m) * r * weight[c];
        }
        row_write(y, i, 0, width, out);
    }
}

void KERNEL(norm_fwd)(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor x, Tensor w, Tensor b, float eps)
{
    norm_rows(dev, y, mean, rstd, &(Normed){ .x = x }, w, b, eps);
}

void KERNEL(sum_norm_fwd)(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor sum, Tensor x, Tensor residual,
                          Tensor w, Tensor b, float eps, const Dropout *drop)
{
    norm_rows(dev, y, mean, rstd, &(Normed){ x, sum, residual, drop }, w, b, eps);
}

/* One row (token) in backward of a norm; residual: the gradient that is added to dx. */
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
        double total = fold_total(fold, first + c, omp_get_num_threads());
        float buffer, *p = beta == 0.0f ? row_place(&buffer, d, 0, c) : row_update(&buffer, d, 0, c, 1);
        *p = (float)(total + (beta == 0.0f ? 0.0 : (double)beta * (double)*p));
        row_write(d, 0, c, 1, p);
    }
}

/* Buffers of each thread in norm_bwd; behind those of all threads lies w. */
enum { BWD_DY, BWD_X, BWD_RESIDUAL, BWD_DX, BWD_BUFFERS };

/* Row i of dy, x and residual, in the calling thread's buffers from `own` on where they are not f32. */
static Row read_row(Tensor buffers, int64_t own, Tensor dy, Tensor x, Tensor residual, int64_t i)
{
    int64_t width = x.d[1];
    return (Row){ .dy = row_read(row_of(buffers, own + BWD_DY), dy, i, 0, width),
                  .x = row_read(row_of(buffers, own + BWD_X), x, i, 0, width),
                  .residual = tensor_present(residual)
                                  ? row_read(row_of(buffers, own + BWD_RESIDUAL), residual, i, 0, width)
                                  : NULL };
}

void KERNEL(norm_bwd)(Device *dev, Tensor dx, Tensor dropped, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w,
                      Tensor mean, Tensor rstd, Tensor residual, float beta, const Dropout *drop)
{
    int64_t width = x.d[1], n = tensor_present(mean) ? 2 * width : width;
    int64_t shared = BWD_BUFFERS * dev->threads;
    size_t bytes = fold_bytes(n, dev->threads);
    Fold fold = { cpu_workspace(dev, bytes + (size_t)(shared + 1) * row_bytes(width)), n };
    Tensor buffers = row_buffers(fold.memory + bytes, shared + 1, width);
    const float *weight = row_read(row_of(buffers, shared), w, 0, 0, width);
#pragma omp parallel num_threads(team(dev, tensor_count(x)))
    {
        Range rows = share(x.d[0], 1), cols = share(width, 32);
        int64_t own = BWD_BUFFERS * omp_get_thread_num();
        float *part = fold_begin(fold);
        for (int64_t i = rows.begin; i < rows.end; i++) {
            Row row = read_row(buffers, own, dy, x, residual, i);
            float *d = row_place(row_of(buffers, own + BWD_DX), dx, i, 0);
            row.w = weight;
            row.rstd = ((const float *)rstd.p)[i];
            if (tensor_present(mean)) {
                row.mean = ((const float *)mean.p)[i];
                layer_row(d, part, part + width, row, width);
            } else {
                rms_row(d, part, row, width);
            }
            row_write(dx, i, 0, width, d);
            fold_row(fold, part, i, rows);
        }
#pragma omp barrier
        add_totals(dw, beta, fold, 0, cols);
        add_totals(db, beta, fold, width, cols);
    }
    /* A pass of its own: in the loop over the rows, loads would wait while a mask is computed. */
    if (tensor_present(dropped))
        KERNEL(dropout_bwd)(dev, dropped, dx, drop);
}
