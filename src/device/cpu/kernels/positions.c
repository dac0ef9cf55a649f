/* positions.c: biases by relative position, tables of angles, rotary positions. */
#include "device/cpu/kernels/kernels.h"

#include <math.h>

/* A few thousand numbers: not worth waking threads. */
void KERNEL(relpos_fwd)(Device *dev, Tensor bias, Tensor table, const RelposSpec *spec)
{
    (void)dev;
    for (int64_t c = 0; c < bias.d[1]; c++) {
        const float *bucket = row_of(table, relpos_bucket(spec->first + (int32_t)c, spec));
        for (int64_t h = 0; h < bias.d[0]; h++)
            row_of(bias, h)[c] = bucket[h];
    }
}

/* The columns of a bucket lie side by side. */
void KERNEL(relpos_bwd)(Device *dev, Tensor dtable, Tensor dbias, const RelposSpec *spec, float beta)
{
    (void)dev;
    for (int64_t b = 0; b < dtable.d[0]; b++)
        for (int64_t h = 0; h < dtable.d[1]; h++)
            row_of(dtable, b)[h] = beta == 0.0f ? 0.0f : beta * row_of(dtable, b)[h];
    for (int64_t begin = 0, end; begin < dbias.d[1]; begin = end) {
        int32_t bucket = relpos_bucket(spec->first + (int32_t)begin, spec);
        for (end = begin + 1; end < dbias.d[1] && relpos_bucket(spec->first + (int32_t)end, spec) == bucket;)
            end++;
        for (int64_t h = 0; h < dbias.d[0]; h++) {
            double sum = 0;
            for (int64_t c = begin; c < end; c++)
                sum += (double)row_of(dbias, h)[c];
            row_of(dtable, bucket)[h] += (float)sum;
        }
    }
}

/* A few thousand numbers: not worth waking threads. */
void KERNEL(alibi)(Device *dev, Tensor bias, int32_t first, int32_t first_head, int32_t heads)
{
    (void)dev;
    for (int64_t h = 0; h < bias.d[0]; h++) {
        double slope = alibi_slope(first_head + (int32_t)h, heads);
        for (int64_t c = 0; c < bias.d[1]; c++)
            row_of(bias, h)[c] = (float)(-slope * fabs((double)(first + c)));
    }
}

/* Row t: sines and cosines of (first + t) · base^(-c / steps), for each column c. */
static void angles(Device *dev, Tensor sines, Tensor cosines, int64_t first, double base, int64_t steps)
{
#pragma omp parallel for num_threads(team(dev, 128 * tensor_count(sines))) schedule(static)
    for (int64_t t = 0; t < sines.d[0]; t++)
        for (int64_t c = 0; c < sines.d[1]; c++) {
            double angle = (double)(first + t) * pow(base, -(double)c / (double)steps);
            row_of(sines, t)[c] = (float)sin(angle);
            row_of(cosines, t)[c] = (float)cos(angle);
        }
}

void KERNEL(sinusoid_table)(Device *dev, Tensor table, int32_t first)
{
    int64_t half = table.d[1] / 2;
    angles(dev, tensor_slice_cols(table, 0, half), tensor_slice_cols(table, half, half), first, 10000, half - 1);
}

void KERNEL(rotary_table)(Device *dev, Tensor table, double base)
{
    int64_t half = table.d[1] / 2;
    angles(dev, tensor_slice_cols(table, half, half), tensor_slice_cols(table, 0, half), 0, base, half);
}

static void rotate_head(float *x, const float *angles, int64_t half, float direction)
{
    const float *cosine = angles, *sine = angles + half;
    float *y = x + half;
    SIMD for (int64_t c = 0; c < half; c++)
    {
        float a = x[c], b = y[c], s = direction * sine[c];
        x[c] = a * cosine[c] - b * s;
        y[c] = b * cosine[c] + a * s;
    }
}

void KERNEL(rotary)(Device *dev, Tensor x, Tensor table, Tensor position_ids, int32_t head_dim, bool inverse)
{
    const int32_t *at = position_ids.p;
    for (int64_t i = 0; i < x.d[0]; i++)
        CHECK(at[i] >= 0 && at[i] < table.d[0], "position id %d of token %lld in a table of %lld rows", at[i],
              (long long)i, (long long)table.d[0]);
#pragma omp parallel for num_threads(team(dev, tensor_count(x))) schedule(static)
    for (int64_t i = 0; i < x.d[0]; i++)
        for (int64_t h = 0; h < x.d[1]; h += head_dim)
            rotate_head(row_of(x, i) + h, row_of(table, at[i]), table.d[1] / 2, inverse ? -1.0f : 1.0f);
}
