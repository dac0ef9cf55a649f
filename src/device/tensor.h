/* tensor.h: Tensor: a view of an array of numbers. It is passed by value and owns no memory. No GLib here: device
 * kernels include this file.
 *
 * Shapes are written (rows, columns). The last dimension is contiguous; rows are `ld` elements apart (a vector has rank
 * 1 and ld = d[0]). Activations are (N, C): the tokens of a packed microbatch, never (B, T, C). */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum DType { DT_F32, DT_BF16, DT_F16, DT_F64, DT_I32, DT_I64, DT_E4M3, DT_E5M2, DT_COUNT } DType;

typedef struct Tensor {
    void *p;
    int64_t d[4], ld;
    uint8_t rank; /* 0 means no tensor (NO_TENSOR) */
    DType dtype;
} Tensor;

#define NO_TENSOR ((Tensor){ 0 })

/* Bytes: the inverse scale of an FP8 operand lies at an address of a multiple of this; cuBLASLt 13.1 on an H200 answers
 * CUBLAS_STATUS_NOT_SUPPORTED to others. */
enum { FP8_INVERSE_ALIGN = 16 };

enum { TENSOR_ROW_UNIT = 64 }; /* see arena_rows */

/* Bytes of one element. */
size_t dtype_bytes(DType dtype);
const char *dtype_name(DType dtype); /* "f32" */
/* tensor_vector and tensor_matrix make a contiguous view of memory at p. */
Tensor tensor_vector(void *p, DType dtype, int64_t n);
Tensor tensor_matrix(void *p, DType dtype, int64_t rows, int64_t cols);
Tensor tensor_flat(Tensor t); /* the elements of a tensor without gaps between its rows as a vector */
/* The arena_* functions allocate the tensor's memory from an arena; `tag` names it in messages. */
Tensor arena_vector(Arena *arena, DType dtype, int64_t n, const char *tag);
Tensor arena_tensor(Arena *arena, DType dtype, int64_t rows, int64_t cols, const char *tag);
/* A matrix whose rows begin TENSOR_ROW_UNIT numbers times a whole number apart (ld), so at multiples of ARENA_ALIGN
 * bytes. GPUs read and multiply such rows several times faster than others. */
Tensor arena_rows(Arena *arena, DType dtype, int64_t rows, int64_t cols, const char *tag);
Tensor arena_like(Arena *arena, DType dtype, Tensor like, const char *tag); /* a tensor with the shape of `like` */
bool tensor_present(Tensor t);                                              /* whether t is not NO_TENSOR */
int64_t tensor_rows(Tensor t);                                              /* d[0] of a matrix, 1 of a vector */
int64_t tensor_cols(Tensor t);                                              /* the last dimension */
int64_t tensor_count(Tensor t);                                             /* number of elements */
Tensor tensor_slice_rows(Tensor t, int64_t first, int64_t n);               /* a view of rows [first, first + n) */
Tensor tensor_slice_cols(Tensor t, int64_t first, int64_t n); /* a view of these columns, with the same ld */
bool tensor_same_shape(Tensor a, Tensor b);
