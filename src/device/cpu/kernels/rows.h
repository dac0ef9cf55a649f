/* rows.h: kernels compute in f32. Numbers of an operand in bf16 or f16 are widened into a buffer before the arithmetic
 * and rounded after it, a part of a row at a time, so that the buffer stays in the first-level cache; an operand in f32
 * is read and written where it lies. Number `first` of row `row` of t is number row·ld + first of its memory. */
#pragma once

#include "device/cpu/kernels/kernels.h"

#include <string.h>

#define row_widen       ISA_NAME(row_widen)
#define row_narrow      ISA_NAME(row_narrow)
#define row_write_far   ISA_NAME(row_write_far)
#define row_written_far ISA_NAME(row_written_far)

/* n numbers of bf16 or f16 to f32, exactly; and from f32, rounded to nearest, ties to even. NaN stays NaN. Instruction
 * set avx512_bf16 rounds numbers below 2^-126 to zeros of their sign. The memory behind the numbers is fetched into the
 * cache. */
void row_widen(float *to, const void *from, DType dtype, int64_t n);
void row_narrow(void *to, DType dtype, const float *from, int64_t n);

/* Whether t has a dtype that the functions below know: f32, bf16 or f16. */
static inline bool row_knows(Tensor t)
{
    return t.dtype == DT_F32 || t.dtype == DT_BF16 || t.dtype == DT_F16;
}

static inline void *row_address(Tensor t, int64_t row, int64_t first)
{
    size_t bytes = t.dtype == DT_F32 ? sizeof(float) : sizeof(uint16_t);
    return (char *)t.p + (size_t)(row * t.ld + first) * bytes;
}

/* Where to compute numbers that row_write then brings into t: in t itself where it is f32, else in the buffer. */
static inline float *row_place(float *buffer, Tensor t, int64_t row, int64_t first)
{
    return t.dtype == DT_F32 ? row_address(t, row, first) : buffer;
}

/* The same place, holding numbers [first, first + n) of the row. */
static inline float *row_update(float *buffer, Tensor t, int64_t row, int64_t first, int64_t n)
{
    if (t.dtype != DT_F32)
        row_widen(buffer, row_address(t, row, first), (DType)t.dtype, n);
    return row_place(buffer, t, row, first);
}

/* Numbers [first, first + n) of the row as f32: in t itself, or in the buffer. */
static inline const float *row_read(float *buffer, Tensor t, int64_t row, int64_t first, int64_t n)
{
    return row_update(buffer, t, row, first, n);
}

/* Numbers [first, first + n) of the row become `from`. Nothing is left to do where that is their place in t. */
static inline void row_write(Tensor t, int64_t row, int64_t first, int64_t n, const float *from)
{
    void *to = row_address(t, row, first);
    if (t.dtype != DT_F32)
        row_narrow(to, (DType)t.dtype, from, n);
    else if (to != from)
        memcpy(to, from, (size_t)n * sizeof *from);
}

/* row_write for a t that is not read soon: past the cache, so that the old numbers of t are not fetched from memory.
 * Other threads may read t after the calling thread has called row_written_far. */
void row_write_far(Tensor t, int64_t row, int64_t first, int64_t n, const float *from);
void row_written_far(void);

/* In a pass over arrays in memory, a line of the cache at a time: FETCH_AHEAD numbers ahead are fetched meanwhile.
 * Nothing is read where an array has ended. */
enum { LINE = 16, FETCH_AHEAD = 256 };

static inline void fetch(const float *x)
{
    __builtin_prefetch(x + FETCH_AHEAD);
}

static inline void fetch_written(const float *x)
{
    __builtin_prefetch(x + FETCH_AHEAD, 1);
}

/* Numbers [first, first + n) of row `to` of y become those of row `from` of x. */
static inline void row_copy(Tensor y, int64_t to, Tensor x, int64_t from, int64_t first, int64_t n)
{
    if (y.dtype == x.dtype) {
        memcpy(row_address(y, to, first), row_address(x, from, first),
               (size_t)n * (y.dtype == DT_F32 ? sizeof(float) : sizeof(uint16_t)));
        return;
    }
    enum { CHUNK = 1024 };
    ALIGNED float buffer[CHUNK];
    for (int64_t at = first, length; at < first + n; at += length) {
        length = min_i64(CHUNK, first + n - at);
        float *numbers = row_place(buffer, y, to, at);
        if (x.dtype != DT_F32)
            row_widen(numbers, row_address(x, from, at), (DType)x.dtype, length);
        row_write(y, to, at, length, x.dtype == DT_F32 ? row_address(x, from, at) : numbers);
    }
}

/* Bytes of a buffer for `width` numbers, a multiple of 64. */
static inline size_t row_bytes(int64_t width)
{
    return align64((size_t)width * sizeof(float));
}

/* Buffers of row_bytes(width) as the rows of a matrix. */
static inline Tensor row_buffers(void *memory, int64_t n, int64_t width)
{
    Tensor buffers = tensor_matrix(memory, DT_F32, n, width);
    buffers.ld = (int64_t)(row_bytes(width) / sizeof(float));
    return buffers;
}
