#include "base/float8.h"
#include "reference/reference.h"

#include <float.h>
#include <math.h>

/* As devices have it: the product with the scale is rounded to f32 before the cast. */
static double cast(double x, double scale, bool e5m2)
{
    return (double)float8_round((float)x * (float)scale, e5m2);
}

/* NaN where one of the numbers is NaN. */
static double larger(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

void reference_fp8_cast(Device *dev, Tensor y, Tensor yt, Tensor amax, Tensor x, Tensor scale, bool e5m2)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(x); i++)
        for (int64_t c = 0; c < tensor_cols(x); c++) {
            double value = cast(*at(x, i, c), *at(scale, 0, 0), e5m2);
            if (tensor_present(y))
                *at(y, i, c) = value;
            if (tensor_present(yt))
                *at(yt, c, i) = value;
            if (tensor_present(amax))
                *at(amax, 0, 0) = larger(*at(amax, 0, 0), fabs(*at(x, i, c)));
        }
    for (int64_t c = 0; tensor_present(yt) && c < tensor_rows(yt); c++)
        for (int64_t i = tensor_rows(x); i < tensor_cols(yt); i++)
            *at(yt, c, i) = 0;
}

static double scale_by(double amax, int32_t margin, bool e5m2, double other)
{
    if (!isfinite(amax) || amax <= 0)
        return other;
    float scale = float8_largest(e5m2) / (float)amax / ldexpf(1, margin);
    return isinf(scale) ? (double)FLT_MAX : (double)scale;
}

void reference_fp8_scale(Device *dev, Tensor scale, Tensor inverse, Tensor x, int32_t margin, bool e5m2)
{
    (void)dev;
    double amax = 0;
    for (int64_t i = 0; i < tensor_rows(x); i++)
        for (int64_t c = 0; c < tensor_cols(x); c++)
            amax = larger(amax, fabs(*at(x, i, c)));
    *at(scale, 0, 0) = scale_by(amax, margin, e5m2, 1);
    *at(inverse, 0, 0) = 1 / *at(scale, 0, 0);
}

void reference_fp8_update(Device *dev, Tensor scale, Tensor inverse, Tensor history, int32_t margin, bool e5m2)
{
    (void)dev;
    int64_t length = tensor_cols(history);
    for (int64_t row = 0; row < tensor_rows(history); row++) {
        double amax = 0, newest = *at(history, row, 0);
        for (int64_t t = 0; t < length; t++)
            amax = larger(amax, *at(history, row, t));
        *at(scale, 0, row) = scale_by(amax, margin, e5m2, *at(scale, 0, row));
        *at(inverse, row, 0) = 1 / *at(scale, 0, row);
        for (int64_t t = 0; t + 1 < length; t++)
            *at(history, row, t) = *at(history, row, t + 1);
        *at(history, row, length - 1) = newest;
        *at(history, row, 0) = 0;
    }
}

void reference_fp8_linear(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, Tensor a_inverse, Tensor b_inverse,
                          float beta)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(y); i++)
        for (int64_t j = 0; j < tensor_cols(y); j++) {
            double sum = 0;
            for (int64_t k = 0; k < tensor_cols(a); k++)
                sum += *at(a, i, k) * *at(b, j, k);
            *at(y, i, j) = sum * *at(a_inverse, 0, 0) * *at(b_inverse, 0, 0) +
                           (tensor_present(bias) ? *at(bias, 0, j) : 0) + (beta == 0 ? 0 : (double)beta * *at(y, i, j));
        }
}
