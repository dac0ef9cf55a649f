#include "reference/reference.h"

#include <math.h>

static double rms(Tensor squares, int64_t count)
{
    return sqrt(*at(squares, 0, 0) / (double)count);
}

/* m̂ / (√v̂ + eps) as PyTorch's AdamW (Loshchilov & Hutter 2019). With scale_by_rms (nanoT5's AdamWScale) the bias
 * corrections act on the step alone, not on eps, and the step is times max(1e-3, rms of w before the update). */
static double adamw_direction(double m, double v, const AdamwSpec *spec, const StepScalars *scalars)
{
    double correction1 = 1 - scalars->beta1_t, correction2 = 1 - scalars->beta2_t;
    if (spec->scale_by_rms)
        return sqrt(correction2) / correction1 * m / (sqrt(v) + spec->eps);
    return m / correction1 / (sqrt(v / correction2) + spec->eps);
}

/* w *= 1 - lr wd; w -= step direction. */
void reference_adamw(Device *dev, Tensor w, Tensor rounded, Tensor m, Tensor v, Tensor g, Tensor squares,
                     const AdamwSpec *spec, const StepScalars *scalars)
{
    double lr = (double)scalars->lr,
           step = spec->rate * lr * (spec->scale_by_rms ? fmax(1e-3, rms(squares, spec->count)) : 1);
    for (int64_t i = 0; i < tensor_rows(w); i++) {
        for (int64_t j = 0; j < tensor_cols(w); j++) {
            double gradient = *at(g, i, j) * (double)scalars->clip;
            *at(m, i, j) = spec->beta1 * *at(m, i, j) + (1 - spec->beta1) * gradient;
            *at(v, i, j) = spec->beta2 * *at(v, i, j) + (1 - spec->beta2) * gradient * gradient;
            *at(w, i, j) = (1 - lr * spec->weight_decay) * *at(w, i, j) -
                           step * adamw_direction(*at(m, i, j), *at(v, i, j), spec, scalars);
        }
    }
    if (tensor_present(rounded))
        reference_copy(dev, rounded, w);
}

/* row_i = β2 row_i + (1-β2) mean_j(g² + eps1), or v = β2 v + (1-β2)(g² + eps1). */
void reference_adafactor_moments(Device *dev, Tensor row, Tensor col_sums, Tensor row_sum, Tensor v, Tensor g,
                                 const AdafactorSpec *spec, const StepScalars *scalars)
{
    (void)dev;
    double beta2 = 1 - scalars->new_part;
    for (int64_t i = 0; i < tensor_rows(g); i++) {
        double sum = 0;
        for (int64_t j = 0; j < tensor_cols(g); j++) {
            double gradient = *at(g, i, j) * (double)scalars->clip, square = gradient * gradient;
            if (tensor_present(v))
                *at(v, i, j) = beta2 * *at(v, i, j) + (1 - beta2) * (square + spec->eps1);
            else
                *at(col_sums, 0, j) += square;
            sum += square;
        }
        if (!tensor_present(row))
            continue;
        *at(row, 0, i) = beta2 * *at(row, 0, i) + (1 - beta2) * (sum / (double)tensor_cols(g) + spec->eps1);
        *at(row_sum, 0, 0) += *at(row, 0, i);
    }
}

/* col_j = β2 col_j + (1-β2) mean_i(g² + eps1). */
void reference_adafactor_columns(Device *dev, Tensor col, Tensor col_sums, const AdafactorSpec *spec,
                                 const StepScalars *scalars)
{
    (void)dev;
    double beta2 = 1 - scalars->new_part;
    for (int64_t j = 0; j < col.d[0]; j++)
        *at(col, 0, j) = beta2 * *at(col, 0, j) + (1 - beta2) * (*at(col_sums, 0, j) / (double)spec->rows + spec->eps1);
}

/* u(i,j) = g / √v, or g / √(row_i / mean(row)) / √col_j. */
static double direction(Tensor row, Tensor col, Tensor row_sum, Tensor v, double gradient, int64_t i, int64_t j,
                        const AdafactorSpec *spec)
{
    if (tensor_present(v))
        return gradient / sqrt(*at(v, i, j));
    double mean_row = *at(row_sum, 0, 0) / (double)spec->rows;
    return gradient / sqrt(*at(row, 0, i) / mean_row) / sqrt(*at(col, 0, j));
}

void reference_adafactor_size(Device *dev, Tensor size, Tensor row, Tensor col, Tensor row_sum, Tensor v, Tensor g,
                              const AdafactorSpec *spec, const StepScalars *scalars)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(g); i++)
        for (int64_t j = 0; j < tensor_cols(g); j++) {
            double gradient = *at(g, i, j) * (double)scalars->clip;
            double u = direction(row, col, row_sum, v, gradient, i, j, spec);
            *at(size, 0, 0) += u * u;
        }
}

void reference_adafactor(Device *dev, Tensor w, Tensor rounded, Tensor m, Tensor row, Tensor col, Tensor row_sum,
                         Tensor v, Tensor g, Tensor squares, Tensor size, const AdafactorSpec *spec,
                         const StepScalars *scalars)
{
    int64_t count = spec->count;
    double alpha = (double)scalars->lr * (spec->scale_parameter ? fmax(spec->eps2, rms(squares, count)) : 1);
    double clip = spec->clip_threshold > 0 ? fmax(1, rms(size, count) / spec->clip_threshold) : 1;
    double keep = 1 - spec->weight_decay * (spec->decay_by_lr ? alpha : 1);
    for (int64_t i = 0; i < tensor_rows(w); i++) {
        for (int64_t j = 0; j < tensor_cols(w); j++) {
            double gradient = *at(g, i, j) * (double)scalars->clip;
            double step = spec->rate * alpha * direction(row, col, row_sum, v, gradient, i, j, spec) / clip;
            if (spec->beta1 > 0)
                step = *at(m, i, j) = spec->beta1 * *at(m, i, j) + (1 - spec->beta1) * step;
            *at(w, i, j) = keep * *at(w, i, j) - step;
        }
    }
    if (tensor_present(rounded))
        reference_copy(dev, rounded, w);
}
