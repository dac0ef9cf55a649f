/* copy.cu: fill, copy, conversion of dtypes, gather and scatter of rows. */
#include "device/cuda/kernels/each.h"
#include "device/cuda/kernels/kernels.h"

namespace
{

/* A tensor of any dtype except FP8, which only matrix products read. */
struct Numbers {
    char *p;
    int64_t ld;
    int dtype, bytes;
};

Numbers numbers(Tensor t)
{
    static const uint8_t bytes[] = { 4, 2, 2, 8, 4, 8 }; /* in the order of DType */
    CHECK(t.dtype < sizeof bytes, "a copy of dtype %d", (int)t.dtype);
    return { (char *)t.p, t.ld, t.dtype, bytes[t.dtype] };
}

__device__ inline double get(const Numbers &x, int64_t row, int64_t col)
{
    const char *at = x.p + (row * x.ld + col) * x.bytes;
    switch (x.dtype) {
    case DT_F32:
        return (double)*(const float *)at;
    case DT_BF16:
        return (double)from_bf16(*(const uint16_t *)at);
    case DT_F16:
        return (double)from_f16(*(const uint16_t *)at);
    case DT_F64:
        return *(const double *)at;
    case DT_I32:
        return *(const int32_t *)at;
    default:
        return (double)*(const int64_t *)at;
    }
}

__device__ inline void set(const Numbers &x, int64_t row, int64_t col, double value)
{
    char *at = x.p + (row * x.ld + col) * x.bytes;
    switch (x.dtype) {
    case DT_F32:
        *(float *)at = (float)value;
        break;
    case DT_BF16:
        *(uint16_t *)at = to_bf16((float)value);
        break;
    case DT_F16:
        *(uint16_t *)at = to_f16((float)value);
        break;
    case DT_F64:
        *(double *)at = value;
        break;
    case DT_I32:
        *(int32_t *)at = (int32_t)value;
        break;
    default:
        *(int64_t *)at = (int64_t)value;
    }
}

/* Any dtype to any other, through f64 (device/cast.h). */
struct CopyAny {
    Numbers y, x;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        for (int i = 0; i < n; i++)
            set(y, row, col + i, get(x, row, col + i));
    }
};

struct FillAny {
    Numbers x;
    double value;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        for (int i = 0; i < n; i++)
            set(x, row, col + i, value);
    }
};

struct Fill {
    View x;
    float value;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float out[VEC];
        UNROLL for (int i = 0; i < VEC; i++) out[i] = value;
        store(x, row, col, n, out);
    }
};

/* y[to(row)] = x[from(row)], where a list of indices that is NULL means 0, 1, 2, …. */
struct CopyRows {
    View y, x;
    const int32_t *to, *from;
    int64_t to_rows, from_rows;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float out[VEC];
        int64_t there = to ? to[row] : row, here = from ? from[row] : row;
        KERNEL_CHECK(there >= 0 && there < to_rows && here >= 0 && here < from_rows);
        load(out, x, here, col, n);
        store(y, there, col, n, out);
    }
};

bool is_short_float(Tensor t)
{
    return t.dtype == DT_F32 || t.dtype == DT_BF16 || t.dtype == DT_F16;
}

} // namespace

void gpu_fill(Device *dev, Tensor x, double value)
{
    size_t bytes = (size_t)rows_of(x) * (size_t)cols_of(x) * numbers(x).bytes;
    bool whole = rows_of(x) <= 1 || x.ld == cols_of(x);
    if (whole && value == 0 && !signbit(value))
        gpu_clear(gpu_of(dev), x.p, bytes);
    else if (is_short_float(x))
        each_vec(dev, x, Fill{ view(x), (float)value });
    else
        each_vec(dev, x, FillAny{ numbers(x), value });
}

void gpu_copy(Device *dev, Tensor y, Tensor x)
{
    size_t bytes = (size_t)numbers(x).bytes, rows = (size_t)rows_of(x), cols = (size_t)cols_of(x);
    if (x.dtype == y.dtype)
        gpu_copy_rows(gpu_of(dev), y.p, (size_t)y.ld * bytes, x.p, (size_t)x.ld * bytes, cols * bytes, rows);
    else if (is_short_float(x) && is_short_float(y))
        each_vec(dev, x, CopyRows{ view(y), view(x), NULL, NULL, rows_of(x), rows_of(x) });
    else
        each_vec(dev, x, CopyAny{ numbers(y), numbers(x) });
}

void gpu_gather(Device *dev, Tensor y, Tensor table, Tensor ids)
{
    each_vec(dev, y, CopyRows{ view(y), view(table), NULL, (const int32_t *)ids.p, rows_of(y), rows_of(table) });
}

void gpu_scatter(Device *dev, Tensor y, Tensor x, Tensor rows)
{
    each_vec(dev, x, CopyRows{ view(y), view(x), (const int32_t *)rows.p, NULL, rows_of(y), rows_of(x) });
}
