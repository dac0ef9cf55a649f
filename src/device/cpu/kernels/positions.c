/* positions.c: biases by relative position, tables of angles, rotary positions. */
#include "device/cpu/kernels/rows.h"

static float number(Tensor t, int64_t row, int64_t c)
{
    float buffer;
    return *row_read(&buffer, t, row, c, 1);
}

static void set_number(Tensor t, int64_t row, int64_t c, float value)
{
    row_write(t, row, c, 1, &value);
}

/* A few thousand numbers: not worth waking threads. */
void KERNEL(relpos_fwd)(Device *dev, Tensor bias, Tensor table, const RelposSpec *spec)
{
    (void)dev;
    for (int64_t c = 0; c < bias.d[1]; c++) {
        int32_t bucket = relpos_bucket(spec->first + (int32_t)c, spec);
        for (int64_t h = 0; h < bias.d[0]; h++)
            set_number(bias, h, c, number(table, bucket, h));
    }
}

/* The columns of a bucket are contiguous. */
void KERNEL(relpos_bwd)(Device *dev, Tensor dtable, Tensor dbias, const RelposSpec *spec, float beta)
{
    (void)dev;
    for (int64_t b = 0; b < dtable.d[0]; b++)
        for (int64_t h = 0; h < dtable.d[1]; h++)
            set_number(dtable, b, h, beta == 0.0f ? 0.0f : beta * number(dtable, b, h));
    for (int64_t begin = 0, end; begin < dbias.d[1]; begin = end) {
        int32_t bucket = relpos_bucket(spec->first + (int32_t)begin, spec);
        for (end = begin + 1; end < dbias.d[1] && relpos_bucket(spec->first + (int32_t)end, spec) == bucket;)
            end++;
        for (int64_t h = 0; h < dbias.d[0]; h++) {
            double sum = 0;
            for (int64_t c = begin; c < end; c++)
                sum += (double)number(dbias, h, c);
            set_number(dtable, bucket, h, number(dtable, bucket, h) + (float)sum);
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
            set_number(bias, h, c, (float)(-slope * fabs((double)(first + c))));
    }
}

/* Row t: sines and cosines of (first + t) · base^(-c / steps), for each column c. */
static void angles(Device *dev, Tensor sines, Tensor cosines, int64_t first, double base, int64_t steps)
{
#pragma omp parallel for num_threads(team(dev, 128 * tensor_count(sines))) schedule(static)
    for (int64_t t = 0; t < sines.d[0]; t++)
        for (int64_t c = 0; c < sines.d[1]; c++) {
            double angle = (double)(first + t) * pow(base, -(double)c / (double)steps);
            set_number(sines, t, c, (float)sin(angle));
            set_number(cosines, t, c, (float)cos(angle));
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

enum { CHUNK = 64 };

/* Channels [first, first + n) of the first half of every head of row i of x, and those of the second half. */
static void rotate_pairs(Tensor x, int64_t i, int32_t head_dim, Tensor table, int64_t angles, float direction,
                         int64_t first, int64_t n)
{
    float cosines[CHUNK], sines[CHUNK], left[CHUNK], right[CHUNK];
    int64_t half = table.d[1] / 2;
    const float *cosine = row_read(cosines, table, angles, first, n);
    const float *sine = row_read(sines, table, angles, half + first, n);
    for (int64_t h = first; h < x.d[1]; h += head_dim) {
        float *a = row_update(left, x, i, h, n), *b = row_update(right, x, i, h + half, n);
        SIMD for (int64_t c = 0; c < n; c++)
        {
            float p = a[c], q = b[c], s = direction * sine[c];
            a[c] = p * cosine[c] - q * s;
            b[c] = q * cosine[c] + p * s;
        }
        row_write(x, i, h, n, a);
        row_write(x, i, h + half, n, b);
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
        for (int64_t first = 0; first < table.d[1] / 2; first += CHUNK)
            rotate_pairs(x, i, head_dim, table, at[i], inverse ? -1.0f : 1.0f, first,
                         min_i64(CHUNK, table.d[1] / 2 - first));
}
