/* positions.cu: relative-position biases, ALiBi, tables of angles, rotary positions. */
#include "device/cuda/kernels/each.h"
#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/reduce.h"

namespace
{

/* The columns of a bias whose distances are in a bucket: always a range. The ranges are an argument of the kernel, for
 * MOST_BUCKETS buckets per launch. */
enum { MOST_BUCKETS = 256 };

struct BucketRanges {
    int32_t first;               /* index of the first bucket in this launch */
    int32_t begin[MOST_BUCKETS]; /* bucket first + b has columns [begin[b], end[b]) */
    int32_t end[MOST_BUCKETS];
};

/* Records columns [from, to) as a range if the first and last are in one bucket, otherwise divides them in two. */
void note_range(BucketRanges *ranges, const RelposSpec *spec, int32_t from, int32_t to)
{
    if (from >= to)
        return;
    int32_t low = relpos_bucket(spec->first + from, spec), high = relpos_bucket(spec->first + to - 1, spec);
    if (low != high) {
        note_range(ranges, spec, from, from + (to - from) / 2);
        note_range(ranges, spec, from + (to - from) / 2, to);
        return;
    }
    int32_t b = low - ranges->first;
    if (b < 0 || b >= MOST_BUCKETS)
        return;
    bool seen = ranges->begin[b] < ranges->end[b];
    CHECK(!seen || ranges->end[b] == from, "bucket %d has columns up to %d and from %d on", low, ranges->end[b], from);
    if (!seen)
        ranges->begin[b] = from;
    ranges->end[b] = to;
}

/* On each side of distance 0, bucket numbers increase or decrease monotonically. */
BucketRanges ranges_of(const RelposSpec *spec, int64_t width, int32_t first_bucket)
{
    BucketRanges ranges = {};
    int64_t middle = -(int64_t)spec->first, after = middle + 1;
    ranges.first = first_bucket;
    middle = middle < 0 ? 0 : middle < width ? middle : width;
    after = after < 0 ? 0 : after < width ? after : width;
    note_range(&ranges, spec, 0, (int32_t)middle);
    note_range(&ranges, spec, (int32_t)middle, (int32_t)after);
    note_range(&ranges, spec, (int32_t)after, (int32_t)width);
    return ranges;
}

/* One warp per bucket (block x) and head (block y). */
__global__ void relpos_fwd_kernel(View bias, View table, BucketRanges ranges)
{
    begin_kernel();
    int32_t begin = ranges.begin[blockIdx.x], end = ranges.end[blockIdx.x];
    if (begin >= end)
        return;
    float value = load_one(table, ranges.first + (int)blockIdx.x, blockIdx.y);
    for (int32_t t = begin + (int32_t)threadIdx.x; t < end; t += WARP)
        store_one(bias, blockIdx.y, t, value);
}

__global__ void relpos_bwd_kernel(View dtable, View dbias, BucketRanges ranges, float beta)
{
    begin_kernel();
    int32_t begin = ranges.begin[blockIdx.x], end = ranges.end[blockIdx.x], bucket = ranges.first + (int)blockIdx.x;
    float sum = 0;
    for (int32_t t = begin + (int32_t)threadIdx.x; t < end; t += WARP)
        sum += load_one(dbias, blockIdx.y, t);
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        store_one(dtable, bucket, blockIdx.y, blend(dtable, bucket, blockIdx.y, beta, sum));
}

template <class Launch> void each_bucket(const RelposSpec *spec, int64_t heads, int64_t width, Launch run)
{
    for (int32_t first = 0; first < spec->n_buckets && heads > 0; first += MOST_BUCKETS) {
        int32_t n = spec->n_buckets - first < MOST_BUCKETS ? spec->n_buckets - first : MOST_BUCKETS;
        run(Shape{ (unsigned)n, (unsigned)heads, WARP, 1 }, ranges_of(spec, width, first));
    }
}

struct Alibi {
    View bias;
    int32_t first, first_head, heads;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float out[VEC];
        double slope = alibi_slope(first_head + (int32_t)row, heads);
        UNROLL for (int i = 0; i < VEC; i++) out[i] = (float)(-slope * fabs((double)(first + col + i)));
        store(bias, row, col, n, out);
    }
};

/* Of the sines and cosines of angles (first + row) · exp(rate · c): column c < half of one, half + c of the other. */
struct Angles {
    View table;
    int64_t half, first;
    double rate;
    bool cosine_first;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        for (int i = 0; i < n; i++) {
            bool left = col + i < half;
            double angle = (double)(first + row) * exp(rate * (double)(left ? col + i : col + i - half));
            store_one(table, row, col + i, (float)(left == cosine_first ? cos(angle) : sin(angle)));
        }
    }
};

/* Rotates vectors of the first half of the rotated channels of each head with their partners in the second half. */
struct Rotary {
    View x, table;
    const int32_t *position_ids;
    int64_t head_dim, half, vectors, positions; /* vectors: number of vectors in a half */
    bool inverse;
    __device__ void operator()(int64_t row, int64_t col, int) const
    {
        int64_t unit = col / VEC, c = unit % vectors * VEC, at = unit / vectors * head_dim + c,
                position = position_ids[row];
        int n = vec_length(half, c);
        float a[VEC], b[VEC], cosine[VEC], sine[VEC];
        KERNEL_CHECK(position >= 0 && position < positions);
        load_any(a, x, row, at, n);
        load_any(b, x, row, at + half, n);
        load_any(cosine, table, position, c, n);
        load_any(sine, table, position, half + c, n);
        UNROLL for (int i = 0; i < VEC; i++)
        {
            float s = inverse ? -sine[i] : sine[i], first = a[i] * cosine[i] - b[i] * s;
            b[i] = b[i] * cosine[i] + a[i] * s;
            a[i] = first;
        }
        store_any(x, row, at, n, a);
        store_any(x, row, at + half, n, b);
    }
};

} // namespace

void gpu_relpos_fwd(Device *dev, Tensor bias, Tensor table, const RelposSpec *spec)
{
    each_bucket(spec, rows_of(bias), cols_of(bias), [&](Shape shape, const BucketRanges &ranges) {
        launch(gpu_of(dev), shape, relpos_fwd_kernel, view(bias), view(table), ranges);
    });
}

void gpu_relpos_bwd(Device *dev, Tensor dtable, Tensor dbias, const RelposSpec *spec, float beta)
{
    each_bucket(spec, rows_of(dbias), cols_of(dbias), [&](Shape shape, const BucketRanges &ranges) {
        launch(gpu_of(dev), shape, relpos_bwd_kernel, view(dtable), view(dbias), ranges, beta);
    });
}

void gpu_alibi(Device *dev, Tensor bias, int32_t first, int32_t first_head, int32_t heads)
{
    each_vec(dev, bias, Alibi{ view(bias), first, first_head, heads });
}

void gpu_sinusoid_table(Device *dev, Tensor table, int32_t first)
{
    int64_t half = cols_of(table) / 2;
    each_vec(dev, table, Angles{ view(table), half, first, -log(10000) / (double)(half - 1), false });
}

void gpu_rotary_table(Device *dev, Tensor table, double base)
{
    int64_t half = cols_of(table) / 2;
    if (half > 0)
        each_vec(dev, table, Angles{ view(table), half, 0, -log(base) / (double)half, true });
}

void gpu_rotary(Device *dev, Tensor x, Tensor table, Tensor position_ids, int32_t head_dim, bool inverse)
{
    int64_t half = cols_of(table) / 2, vectors = ceil_div(half, VEC), heads = cols_of(x) / head_dim;
    Rotary rotary = { view(x),        view(table), (const int32_t *)position_ids.p, head_dim, half, vectors,
                      rows_of(table), inverse };
    each_vec_of(gpu_of(dev), rows_of(x), heads * vectors * VEC, rotary);
}
