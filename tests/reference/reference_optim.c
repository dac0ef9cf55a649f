#include "reference/reference.h"

#include <math.h>

static double rms(Tensor t)
{
    double sum = 0;
    for (int64_t i = 0; i < tensor_rows(t); i++)
        for (int64_t j = 0; j < tensor_cols(t); j++)
            sum += *at(t, i, j) * *at(t, i, j);
    return sqrt(sum / (double)tensor_count(t));
}

/* m̂ / (√v̂ + eps) as PyTorch's AdamW (Loshchilov & Hutter 2019). With scale_by_rms (nanoT5's AdamWScale) the bias
 * corrections act on the step alone, not on eps, and the step is times max(1e-3, rms of w before the update). */
static double adamw_direction(double m, double v, double t, const AdamwSpec *spec)
{
    double correction1 = 1 - pow(spec->beta1, t), correction2 = 1 - pow(spec->beta2, t);
    if (spec->scale_by_rms)
        return sqrt(correction2) / correction1 * m / (sqrt(v) + spec->eps);
    return m / correction1 / (sqrt(v / correction2) + spec->eps);
}

/* w *= 1 - lr wd; w -= step direction. */
void reference_adamw(Device *dev, Tensor w, Tensor m, Tensor v, Tensor g, const AdamwSpec *spec,
                     const StepScalars *scalars)
{
    (void)dev;
    double lr = (double)scalars->lr, step = lr * (spec->scale_by_rms ? fmax(1e-3, rms(w)) : 1);
    for (int64_t i = 0; i < tensor_rows(w); i++) {
        for (int64_t j = 0; j < tensor_cols(w); j++) {
            double gradient = *at(g, i, j) * (double)scalars->clip;
            *at(m, i, j) = spec->beta1 * *at(m, i, j) + (1 - spec->beta1) * gradient;
            *at(v, i, j) = spec->beta2 * *at(v, i, j) + (1 - spec->beta2) * gradient * gradient;
            *at(w, i, j) = (1 - lr * spec->weight_decay) * *at(w, i, j) -
                           step * adamw_direction(*at(m, i, j), *at(v, i, j), (double)scalars->update, spec);
        }
    }
}

/* row_i = β2 row_i + (1-β2) mean_j(g² + eps1), col_j likewise over i; u = g / √(row_i / mean(row)) / √col_j. */
static void factored_direction(Tensor u, Tensor row, Tensor col, Tensor g, double clip, double beta2, double eps1)
{
    int64_t rows = tensor_rows(u), cols = tensor_cols(u);
    double mean_row = 0;
    for (int64_t i = 0; i < rows; i++)
        *at(row, 0, i) *= beta2;
    for (int64_t j = 0; j < cols; j++)
        *at(col, 0, j) *= beta2;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            double gradient = *at(g, i, j) * clip, square = gradient * gradient + eps1;
            *at(row, 0, i) += (1 - beta2) * square / (double)cols;
            *at(col, 0, j) += (1 - beta2) * square / (double)rows;
        }
    }
    for (int64_t i = 0; i < rows; i++)
        mean_row += *at(row, 0, i) / (double)rows;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            *at(u, i, j) = *at(g, i, j) * clip / sqrt(*at(row, 0, i) / mean_row) / sqrt(*at(col, 0, j));
}

/* v = β2 v + (1-β2)(g² + eps1); u = g / √v. */
static void full_direction(Tensor u, Tensor v, Tensor g, double clip, double beta2, double eps1)
{
    for (int64_t i = 0; i < tensor_rows(u); i++) {
        for (int64_t j = 0; j < tensor_cols(u); j++) {
            double gradient = *at(g, i, j) * clip;
            *at(v, i, j) = beta2 * *at(v, i, j) + (1 - beta2) * (gradient * gradient + eps1);
            *at(u, i, j) = gradient / sqrt(*at(v, i, j));
        }
    }
}

void reference_adafactor(Device *dev, Tensor w, Tensor row, Tensor col, Tensor v, Tensor m, Tensor g, Tensor u,
                         const AdafactorSpec *spec, const StepScalars *scalars)
{
    (void)dev;
    double beta2 = 1 - pow((double)(scalars->update + spec->step_offset), -spec->decay_rate);
    double alpha = (double)scalars->lr * (spec->scale_parameter ? fmax(spec->eps2, rms(w)) : 1);
    if (tensor_present(row))
        factored_direction(u, row, col, g, (double)scalars->clip, beta2, spec->eps1);
    else
        full_direction(u, v, g, (double)scalars->clip, beta2, spec->eps1);
    double clip = spec->clip_threshold > 0 ? fmax(1, rms(u) / spec->clip_threshold) : 1;
    double keep = 1 - spec->weight_decay * (spec->decay_by_lr ? alpha : 1);
    for (int64_t i = 0; i < tensor_rows(w); i++) {
        for (int64_t j = 0; j < tensor_cols(w); j++) {
            double step = alpha * *at(u, i, j) / clip;
            if (spec->beta1 > 0)
                step = *at(m, i, j) = spec->beta1 * *at(m, i, j) + (1 - spec->beta1) * step;
            *at(w, i, j) = keep * *at(w, i, j) - step;
        }
    }
}
