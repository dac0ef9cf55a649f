/* fp8.cu: conversion to FP8, with the transposes in the same pass over memory, and scales. A tensor's largest absolute
 * value (amax) is computed as the maximum of bit patterns, by atomic operations, whose order does not matter. */
#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/reduce.h"
#include "device/cuda/kernels/view.h"

#include <float.h>

#ifndef SHIM
#include <cuda_fp8.h>
#endif

namespace
{

__device__ inline uint8_t to_float8(float x, bool e5m2)
{
#ifdef SHIM
    return float8_from_f32(x, e5m2);
#else
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, e5m2 ? __NV_E5M2 : __NV_E4M3);
#endif
}

__device__ inline unsigned most_of(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

/* Over all threads of the block, for each of them. */
__device__ inline unsigned block_most(unsigned x, PerWarp<unsigned> *parts)
{
    unsigned thread = threadIdx.y * blockDim.x + threadIdx.x, warps = blockDim.x * blockDim.y / WARP;
    UNROLL for (int distance = WARP / 2; distance > 0; distance /= 2) x =
        most_of(x, __shfl_xor_sync(ALL_LANES, x, distance));
    __syncthreads(); /* all threads have read the previous parts */
    if (thread % WARP == 0)
        parts->of[thread / WARP] = x;
    __syncthreads();
    for (unsigned i = 0; i < warps; i++)
        x = most_of(x, parts->of[i]);
    return x;
}

/* An FP8 tensor; p is NULL if there is none. */
struct Bytes {
    uint8_t *p;
    int64_t ld, cols;
};

Bytes bytes(Tensor t)
{
    return { (uint8_t *)t.p, t.ld, cols_of(t) };
}

/* Writes n <= VEC numbers, in one access if the address is a multiple of VEC bytes. */
__device__ inline void store_bytes(const Bytes &b, int64_t row, int64_t col, int64_t n, const uint8_t (&x)[VEC])
{
    uint8_t *at = b.p + row * b.ld + col;
    if (n == VEC && (uintptr_t)at % VEC == 0) {
        uint64_t all = 0;
        UNROLL for (int i = 0; i < VEC; i++) all |= (uint64_t)x[i] << 8 * i;
        *(uint64_t *)at = all;
        return;
    }
    UNROLL for (int i = 0; i < VEC; i++) if (i < n) at[i] = x[i];
}

/* A block converts tiles of TILE × TILE numbers: a thread has vectors of rows threadIdx.y and threadIdx.y + GROUP_ROWS,
 * and for the transpose vectors of these columns. */
enum { TILE = 64, ACROSS = TILE / VEC, GROUP_ROWS = 32 };

struct TileShared {
    PerWarp<unsigned> parts;
    uint8_t of[TILE][TILE + 4];
};

struct Cast {
    Bytes y, yt;
    View x;
    int64_t rows, cols, padded; /* rows of x; its columns; rows with those that are zeros in yt */
    const float *scale;
    unsigned *amax;
    bool e5m2;
};

/* Converts the vector at (row, col) to y and the tile. Returns the largest bit pattern of its absolute values. */
__device__ inline unsigned cast_vec(const Cast &cast, TileShared *tile, int64_t row, int64_t col, float scale)
{
    float in[VEC] = {};
    uint8_t out[VEC];
    unsigned most = 0;
    bool there = row < cast.rows && col < cast.cols;
    int n = there ? vec_length(cast.cols, col) : 0;
    if (there)
        load(in, cast.x, row, col, n);
    UNROLL for (int i = 0; i < VEC; i++)
    {
        most = most_of(most, bits_of_f32(in[i]) & 0x7FFFFFFFu);
        out[i] = i < n ? to_float8(in[i] * scale, cast.e5m2) : 0;
        tile->of[row % TILE][threadIdx.x * VEC + i] = out[i];
    }
    if (there && cast.y.p)
        store_bytes(cast.y, row, col, n, out);
    return most;
}

__device__ inline void write_column(const Cast &cast, const TileShared *tile, int64_t first, int64_t first_col, int c)
{
    int64_t token = first + threadIdx.x * VEC;
    uint8_t out[VEC];
    if (cast.yt.p == NULL || first_col + c >= cast.cols || token >= cast.padded)
        return;
    UNROLL for (int i = 0; i < VEC; i++) out[i] = tile->of[threadIdx.x * VEC + i][c];
    store_bytes(cast.yt, first_col + c, token, least(VEC, cast.padded - token), out);
}

__global__ void __launch_bounds__(ACROSS *GROUP_ROWS) cast_kernel(Cast cast)
{
    begin_kernel();
    TileShared *tile = block_shared<TileShared>();
    int64_t first_col = (int64_t)blockIdx.x * TILE, tiles = ceil_div(cast.padded, TILE);
    float scale = *cast.scale;
    unsigned most = 0;
    for (int64_t t = blockIdx.y; t < tiles; t += gridDim.y) {
        UNROLL for (int k = 0; k < TILE / GROUP_ROWS; k++) most = most_of(
            most, cast_vec(cast, tile, t * TILE + threadIdx.y + k * GROUP_ROWS, first_col + threadIdx.x * VEC, scale));
        __syncthreads();
        UNROLL for (int k = 0; k < TILE / GROUP_ROWS; k++)
            write_column(cast, tile, t * TILE, first_col, (int)threadIdx.y + k * GROUP_ROWS);
        __syncthreads();
    }
    if (cast.amax == NULL)
        return;
    most = block_most(most, &tile->parts);
    if (threadIdx.x == 0 && threadIdx.y == 0)
        atomicMax(cast.amax, most);
}

/* The scale for the bit pattern of an amax; `other` if the amax is 0 or not finite. */
__device__ inline float scale_by(unsigned most, int margin, bool e5m2, float other)
{
    float scale = float8_largest(e5m2) / f32_of_bits(most) / ldexpf(1, margin);
    if (most == 0 || most >= 0x7F800000u)
        return other;
    return isinf(scale) ? FLT_MAX : scale;
}

enum { AMAX_THREADS = 256, AMAX_BLOCKS = 512 };

struct AmaxShared {
    PerWarp<unsigned> parts;
    unsigned ticket;
};

/* partial (gridDim.x). */
__global__ void __launch_bounds__(AMAX_THREADS)
    scale_kernel(View x, int64_t rows, int64_t cols, unsigned *partial, unsigned *ticket, float *scale, float *inverse,
                 int margin, bool e5m2)
{
    begin_kernel();
    AmaxShared *shared = block_shared<AmaxShared>();
    int64_t vectors = ceil_div(cols, VEC), n = rows * vectors, step = (int64_t)gridDim.x * AMAX_THREADS;
    unsigned most = 0;
    for (int64_t i = (int64_t)blockIdx.x * AMAX_THREADS + threadIdx.x; i < n; i += step) {
        float in[VEC];
        int64_t row = i / vectors, col = (i - row * vectors) * VEC;
        load(in, x, row, col, vec_length(cols, col));
        UNROLL for (int k = 0; k < VEC; k++) most = most_of(most, bits_of_f32(in[k]) & 0x7FFFFFFFu);
    }
    most = block_most(most, &shared->parts);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = most;
    if (!last_block(ticket, gridDim.x, &shared->ticket))
        return;
    most = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += AMAX_THREADS)
        most = most_of(most, ((volatile unsigned *)partial)[i]);
    most = block_most(most, &shared->parts);
    if (threadIdx.x == 0) {
        *scale = scale_by(most, margin, e5m2, 1);
        *inverse = 1 / *scale;
    }
}

/* One block per row of the history. */
__global__ void __launch_bounds__(AMAX_THREADS)
    update_kernel(float *scale, float *inverse, int64_t inverse_ld, float *history, int64_t ld, int length, int margin,
                  bool e5m2)
{
    begin_kernel();
    PerWarp<unsigned> *parts = block_shared<PerWarp<unsigned>>();
    float *amax = history + blockIdx.x * ld, newest = amax[0];
    unsigned most = 0;
    for (int t = (int)threadIdx.x; t < length; t += AMAX_THREADS)
        most = most_of(most, bits_of_f32(amax[t]));
    most = block_most(most, parts);
    __syncthreads(); /* all threads have read the newest value */
    for (int first = 0; first < length; first += AMAX_THREADS) {
        int t = first + (int)threadIdx.x;
        float next = t + 1 < length ? amax[t + 1] : newest;
        __syncthreads();
        if (t < length)
            amax[t] = t == 0 ? 0 : next;
        __syncthreads();
    }
    if (threadIdx.x > 0)
        return;
    scale[blockIdx.x] = scale_by(most, margin, e5m2, scale[blockIdx.x]);
    inverse[blockIdx.x * inverse_ld] = 1 / scale[blockIdx.x];
}

} // namespace

void gpu_fp8_cast(Device *dev, Tensor y, Tensor yt, Tensor amax, Tensor x, Tensor scale, bool e5m2)
{
    enum { MOST_Y = 65535 };
    int64_t rows = rows_of(x), cols = cols_of(x), padded = yt.rank ? cols_of(yt) : rows;
    Cast cast = { bytes(y), bytes(yt), view(x), rows, cols, padded, (const float *)scale.p, (unsigned *)amax.p, e5m2 };
    Shape shape = { (unsigned)ceil_div(cols, TILE), (unsigned)least(ceil_div(padded, TILE), MOST_Y), ACROSS,
                    GROUP_ROWS };
    if (padded > 0 && cols > 0)
        launch(gpu_of(dev), shape, cast_kernel, cast);
}

void gpu_fp8_scale(Device *dev, Tensor scale, Tensor inverse, Tensor x, int32_t margin, bool e5m2)
{
    Gpu *gpu = gpu_of(dev);
    int64_t vectors = rows_of(x) * ceil_div(cols_of(x), VEC), blocks = ceil_div(vectors, AMAX_THREADS);
    unsigned *partial = (unsigned *)gpu_scratch(gpu, AMAX_BLOCKS * sizeof *partial);
    Shape shape = { (unsigned)least(blocks < 1 ? 1 : blocks, AMAX_BLOCKS), 1, AMAX_THREADS, 1 };
    launch(gpu, shape, scale_kernel, view(x), rows_of(x), cols_of(x), partial, gpu_tickets(gpu), (float *)scale.p,
           (float *)inverse.p, margin, e5m2);
}

void gpu_fp8_update(Device *dev, Tensor scale, Tensor inverse, Tensor history, int32_t margin, bool e5m2)
{
    Shape shape = { (unsigned)rows_of(history), 1, AMAX_THREADS, 1 };
    if (rows_of(history) > 0 && cols_of(history) > 0)
        launch(gpu_of(dev), shape, update_kernel, (float *)scale.p, (float *)inverse.p, inverse.ld, (float *)history.p,
               history.ld, (int)cols_of(history), margin, e5m2);
}
