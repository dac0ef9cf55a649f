/* view.h: lets kernels read and write tensors a vector of eight consecutive columns of a row at a time. The numbers are
 * f32 in registers whatever the tensor's dtype, so that one kernel serves all precisions. All threads of a launch take
 * the same branches on dtype and alignment. */
#pragma once

#include "device/cuda/kernels/gpu.h"

/* Size of a vector: consecutive columns that a thread reads or writes at once: 16 bytes of bf16 or 32 of f32. */
enum { VEC = 8 };

/* A tensor in a kernel. */
struct View {
    char *p;    /* NULL means that there is no tensor */
    int64_t ld; /* distance between rows, in elements */
    int dtype;
    bool wide; /* every vector whose first column is a multiple of VEC begins at an address that is a multiple of 16 */
};

/* The view of a tensor of f32, bf16 or f16. */
static inline View view(Tensor t)
{
    size_t bytes = t.dtype == DT_F32 ? 4 : 2;
    return { (char *)t.p, t.ld, t.dtype,
             (uintptr_t)t.p % 16 == 0 && (rows_of(t) <= 1 || (size_t)t.ld * bytes % 16 == 0) };
}

/* The address of an element. */
static __device__ inline char *place(const View &v, int64_t row, int64_t col)
{
    return v.p + (row * v.ld + col) * (v.dtype == DT_F32 ? 4 : 2);
}

static __device__ inline float from_bf16(uint32_t x)
{
    return f32_of_bits(x << 16);
}

/* Reads one element as f32. */
static __device__ inline float load_one(const View &v, int64_t row, int64_t col)
{
    const char *at = place(v, row, col);
    if (v.dtype == DT_F32)
        return *(const float *)at;
    uint16_t bits = *(const uint16_t *)at;
    return v.dtype == DT_BF16 ? from_bf16(bits) : from_f16(bits);
}

/* Writes one element, rounded to the tensor's dtype. */
static __device__ inline void store_one(const View &v, int64_t row, int64_t col, float x)
{
    char *at = place(v, row, col);
    if (v.dtype == DT_F32)
        *(float *)at = x;
    else
        *(uint16_t *)at = v.dtype == DT_BF16 ? to_bf16(x) : to_f16(x);
}

/* unpack converts the two 16-bit numbers in a 32-bit word to f32; pack is the inverse, with rounding. */
static __device__ inline void unpack(float *x, unsigned word, int dtype)
{
    x[0] = dtype == DT_BF16 ? from_bf16(word & 0xFFFFu) : from_f16((uint16_t)word);
    x[1] = dtype == DT_BF16 ? from_bf16(word >> 16) : from_f16((uint16_t)(word >> 16));
}

static __device__ inline unsigned pack(const float *x, int dtype)
{
    return dtype == DT_BF16 ? two_bf16(x[0], x[1]) : two_f16(x[0], x[1]);
}

/* A vector as it lies in memory: 16 bytes of bf16 or f16, 32 of f32. A thread that fetches several vectors before it
 * converts the first has all of them on their way at once, since converting waits for memory. */
struct Bits {
    uint4 a, b;
};

/* Reads columns [col, col + n) of a row, n <= VEC; the rest becomes 0. col is a multiple of VEC. */
static __device__ inline Bits fetch(const View &v, int64_t row, int64_t col, int n)
{
    const char *at = place(v, row, col);
    if (v.wide && n == VEC) {
        Bits bits = { *(const uint4 *)at, {} };
        if (v.dtype == DT_F32)
            bits.b = ((const uint4 *)at)[1];
        return bits;
    }
    uint32_t words[VEC] = {}, halves[VEC];
    if (v.dtype == DT_F32) {
        UNROLL for (int i = 0; i < VEC; i++) words[i] = i < n ? ((const uint32_t *)at)[i] : 0;
    } else {
        UNROLL for (int i = 0; i < VEC; i++) halves[i] = i < n ? ((const uint16_t *)at)[i] : 0;
        UNROLL for (int i = 0; i < VEC / 2; i++) words[i] = halves[2 * i] | halves[2 * i + 1] << 16;
    }
    return { { words[0], words[1], words[2], words[3] }, { words[4], words[5], words[6], words[7] } };
}

/* The numbers of a vector that was fetched from `v`. */
static __device__ inline void convert(float (&x)[VEC], const Bits &bits, const View &v)
{
    const uint32_t words[VEC] = { bits.a.x, bits.a.y, bits.a.z, bits.a.w, bits.b.x, bits.b.y, bits.b.z, bits.b.w };
    if (v.dtype == DT_F32)
        UNROLL for (int i = 0; i < VEC; i++) x[i] = f32_of_bits(words[i]);
    else
        UNROLL for (int i = 0; i < VEC / 2; i++) unpack(x + 2 * i, words[i], v.dtype);
}

/* Reads columns [col, col + n) of a row to x, n <= VEC; the rest of x becomes 0. col is a multiple of VEC. In kernels
 * that have other loads on their way, such as norms, it is faster than fetch and convert. */
static __device__ inline void load(float (&x)[VEC], const View &v, int64_t row, int64_t col, int n)
{
    const char *at = place(v, row, col);
    if (!v.wide || n < VEC) {
        UNROLL for (int i = 0; i < VEC; i++) x[i] = i < n ? load_one(v, row, col + i) : 0;
    } else if (v.dtype == DT_F32) {
        float4 a = ((const float4 *)at)[0], b = ((const float4 *)at)[1];
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w, x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
    } else {
        uint4 a = *(const uint4 *)at;
        unpack(x, a.x, v.dtype);
        unpack(x + 2, a.y, v.dtype);
        unpack(x + 4, a.z, v.dtype);
        unpack(x + 6, a.w, v.dtype);
    }
}

/* Writes x to columns [col, col + n) of a row, rounded to the tensor's dtype. col is a multiple of VEC. */
static __device__ inline void store(const View &v, int64_t row, int64_t col, int n, const float (&x)[VEC])
{
    char *at = place(v, row, col);
    if (!v.wide || n < VEC) {
        UNROLL for (int i = 0; i < VEC; i++) if (i < n) store_one(v, row, col + i, x[i]);
    } else if (v.dtype == DT_F32) {
        ((float4 *)at)[0] = { x[0], x[1], x[2], x[3] };
        ((float4 *)at)[1] = { x[4], x[5], x[6], x[7] };
    } else {
        *(uint4 *)at = { pack(x, v.dtype), pack(x + 2, v.dtype), pack(x + 4, v.dtype), pack(x + 6, v.dtype) };
    }
}

/* As load and store, for a vector that begins at any column, such as the first channel of a head. */
static __device__ inline void load_any(float (&x)[VEC], View v, int64_t row, int64_t col, int n)
{
    v.wide = v.wide && col % VEC == 0;
    load(x, v, row, col, n);
}

static __device__ inline void store_any(View v, int64_t row, int64_t col, int n, const float (&x)[VEC])
{
    v.wide = v.wide && col % VEC == 0;
    store(v, row, col, n, x);
}

/* The number of columns of the vector that begins at `col` in a row of `cols` columns: VEC, or less at its end. */
static __device__ inline int vec_length(int64_t cols, int64_t col)
{
    return cols - col < VEC ? (int)(cols - col) : VEC;
}

/* beta · (element of v) + more; if beta is 0, the element is not read. */
static __device__ inline float blend(const View &v, int64_t row, int64_t col, float beta, float more)
{
    return beta == 0 ? more : beta * load_one(v, row, col) + more;
}
