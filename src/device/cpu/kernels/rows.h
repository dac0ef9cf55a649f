/* rows.h: lets kernels, which compute in f32, read and write rows of operands of f32, bf16 or f16. Numbers of bf16 or
 * f16 operands are converted into a buffer before the computation and rounded after it, a part of a row at a time, so
 * that the buffer stays in the first-level cache; f32 operands are read and written in place. Element `first` of row
 * `row` of t is element row·ld + first of its memory. */
#pragma once

#include "device/cpu/kernels/kernels.h"

#include <string.h>

#define row_widen       ISA_NAME(row_widen)
#define row_narrow      ISA_NAME(row_narrow)
#define row_write_far   ISA_NAME(row_write_far)
#define row_written_far ISA_NAME(row_written_far)

/* row_widen converts n numbers of bf16 or f16 to f32 exactly; row_narrow converts them back, rounded to nearest, ties
 * to even. NaN stays NaN. With avx512_bf16, numbers below 2^-126 become zeros of their sign. The memory after the
 * numbers is prefetched. */
void row_widen(float *to, const void *from, DType dtype, int64_t n);
void row_narrow(void *to, DType dtype, const float *from, int64_t n);

/* Whether t has a dtype that the functions of this file can use: f32, bf16 or f16. */
static inline bool row_knows(Tensor t)
{
    return t.dtype == DT_F32 || t.dtype == DT_BF16 || t.dtype == DT_F16;
}

/* The address of element `first` of row `row` of t. */
static inline void *row_address(Tensor t, int64_t row, int64_t first)
{
    size_t bytes = t.dtype == DT_F32 ? sizeof(float) : sizeof(uint16_t);
    return (char *)t.p + (size_t)(row * t.ld + first) * bytes;
}

/* Returns where to compute the f32 numbers that row_write then stores in t from element `first` of row `row` on: in t
 * itself if t is f32, otherwise in the buffer. */
static inline float *row_place(float *buffer, Tensor t, int64_t row, int64_t first)
{
    return t.dtype == DT_F32 ? row_address(t, row, first) : buffer;
}

/* As row_place, with the memory filled with elements [first, first + n) of the row, to update them. */
static inline float *row_update(float *buffer, Tensor t, int64_t row, int64_t first, int64_t n)
{
    if (t.dtype != DT_F32)
        row_widen(buffer, row_address(t, row, first), t.dtype, n);
    return row_place(buffer, t, row, first);
}

/* Returns elements [first, first + n) of the row as f32: in t itself if t is f32, otherwise in the buffer. */
static inline const float *row_read(float *buffer, Tensor t, int64_t row, int64_t first, int64_t n)
{
    return row_update(buffer, t, row, first, n);
}

/* Stores the numbers `from` in elements [first, first + n) of the row, rounded to the dtype of t; does nothing if
 * `from` is the address of these elements. */
static inline void row_write(Tensor t, int64_t row, int64_t first, int64_t n, const float *from)
{
    void *to = row_address(t, row, first);
    if (t.dtype != DT_F32)
        row_narrow(to, t.dtype, from, n);
    else if (to != from)
        memcpy(to, from, (size_t)n * sizeof *from);
}

/* As row_write, with non-temporal stores, which do not load the old content of t into the cache: for a t that is not
 * read soon. Other threads may read t after the calling thread has called row_written_far. */
void row_write_far(Tensor t, int64_t row, int64_t first, int64_t n, const float *from);
void row_written_far(void);

/* For loops that process an array LINE numbers (a cache line) at a time: fetch(x) prefetches the cache line FETCH_AHEAD
 * numbers after x for reading, fetch_written(x) for writing. Prefetching beyond the end of an array is harmless. */
enum { LINE = 16, FETCH_AHEAD = 256 };

static inline void fetch(const float *x)
{
    __builtin_prefetch(x + FETCH_AHEAD);
}

static inline void fetch_written(const float *x)
{
    __builtin_prefetch(x + FETCH_AHEAD, 1);
}

/* Copies elements [first, first + n) of row `from` of x to row `to` of y, converted if the dtypes differ. */
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
            row_widen(numbers, row_address(x, from, at), x.dtype, length);
        row_write(y, to, at, length, x.dtype == DT_F32 ? row_address(x, from, at) : numbers);
    }
}

/* Size in bytes of a buffer for `width` numbers of f32, rounded up to a multiple of 64. */
static inline size_t row_bytes(int64_t width)
{
    return align64((size_t)width * sizeof(float));
}

/* An f32 matrix (n, width) in `memory`, whose rows are row_bytes(width) bytes apart. */
static inline Tensor row_buffers(void *memory, int64_t n, int64_t width)
{
    Tensor buffers = tensor_matrix(memory, DT_F32, n, width);
    buffers.ld = (int64_t)(row_bytes(width) / sizeof(float));
    return buffers;
}
