#include "device/tensor.h"

#include "base/check.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[DT_COUNT] = {
    [DT_F32] = { "f32", 4 }, [DT_BF16] = { "bf16", 2 }, [DT_F16] = { "f16", 2 },   [DT_F64] = { "f64", 8 },
    [DT_I32] = { "i32", 4 }, [DT_I64] = { "i64", 8 },   [DT_E4M3] = { "e4m3", 1 }, [DT_E5M2] = { "e5m2", 1 },
};

size_t dtype_bytes(DType dtype)
{
    CHECK(dtype < DT_COUNT, "dtype %d", (int)dtype);
    return dtypes[dtype].bytes;
}

const char *dtype_name(DType dtype)
{
    CHECK(dtype < DT_COUNT, "dtype %d", (int)dtype);
    return dtypes[dtype].name;
}

Tensor tensor_vector(void *p, DType dtype, int64_t n)
{
    CHECK(n >= 0, "vector of %lld", (long long)n);
    return (Tensor){ .p = p, .d = { n }, .ld = n, .rank = 1, .dtype = dtype };
}

Tensor tensor_matrix(void *p, DType dtype, int64_t rows, int64_t cols)
{
    CHECK(rows >= 0 && cols >= 0, "matrix of %lld x %lld", (long long)rows, (long long)cols);
    return (Tensor){ .p = p, .d = { rows, cols }, .ld = cols, .rank = 2, .dtype = dtype };
}

Tensor tensor_flat(Tensor t)
{
    return tensor_vector(t.p, t.dtype, tensor_count(t));
}

Tensor arena_vector(Arena *arena, DType dtype, int64_t n, const char *tag)
{
    CHECK(n >= 0, "%s of %lld", tag, (long long)n);
    return tensor_vector(arena_push(arena, (size_t)n * dtype_bytes(dtype), tag), dtype, n);
}

Tensor arena_tensor(Arena *arena, DType dtype, int64_t rows, int64_t cols, const char *tag)
{
    CHECK(rows >= 0 && cols >= 0, "%s of %lld x %lld", tag, (long long)rows, (long long)cols);
    size_t bytes = (size_t)rows * (size_t)cols * dtype_bytes(dtype);
    return tensor_matrix(arena_push(arena, bytes, tag), dtype, rows, cols);
}

Tensor arena_rows(Arena *arena, DType dtype, int64_t rows, int64_t cols, const char *tag)
{
    int64_t ld = (cols + TENSOR_ROW_UNIT - 1) / TENSOR_ROW_UNIT * TENSOR_ROW_UNIT;
    return tensor_slice_cols(arena_tensor(arena, dtype, rows, ld, tag), 0, cols);
}

Tensor arena_like(Arena *arena, DType dtype, Tensor like, const char *tag)
{
    return like.rank == 2 ? arena_tensor(arena, dtype, like.d[0], like.d[1], tag)
                          : arena_vector(arena, dtype, like.d[0], tag);
}

bool tensor_present(Tensor t)
{
    return t.rank != 0;
}

int64_t tensor_rows(Tensor t)
{
    return t.rank == 1 ? 1 : t.d[0];
}

int64_t tensor_cols(Tensor t)
{
    return t.rank == 0 ? 0 : t.d[t.rank - 1];
}

int64_t tensor_count(Tensor t)
{
    int64_t n = t.rank != 0;
    for (int i = 0; i < t.rank; i++)
        n *= t.d[i];
    return n;
}

Tensor tensor_slice_rows(Tensor t, int64_t first, int64_t n)
{
    CHECK(t.rank >= 1 && first >= 0 && n >= 0 && first + n <= t.d[0], "rows %lld + %lld of %lld", (long long)first,
          (long long)n, (long long)t.d[0]);
    int64_t stride = t.rank == 1 ? 1 : t.ld;
    t.p = (char *)t.p + (size_t)(first * stride) * dtype_bytes(t.dtype);
    t.d[0] = n;
    if (t.rank == 1)
        t.ld = n;
    return t;
}

Tensor tensor_slice_cols(Tensor t, int64_t first, int64_t n)
{
    CHECK(t.rank == 2 && first >= 0 && n >= 0 && first + n <= t.d[1], "columns %lld + %lld of %lld", (long long)first,
          (long long)n, (long long)tensor_cols(t));
    t.p = (char *)t.p + (size_t)first * dtype_bytes(t.dtype);
    t.d[1] = n;
    return t;
}

bool tensor_same_shape(Tensor a, Tensor b)
{
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (a.d[i] != b.d[i])
            return false;
    return true;
}
