/* multiply.h: products of tiles in shared memory: by wgmma on GPUs that have it (warpgroup.h), else by mma
 * (fragments.h). Both leave the same elements in the same registers. All threads of a block, which has four warps,
 * call these functions together. A product is there, and its tiles may be written again, after await_products. */
#pragma once

#include "device/cuda/kernels/warpgroup.h"

/* Waits for all products but those of the last PENDING calls; c is a product that it waits for. */
template <int PENDING, int M, int N> static __device__ inline void await_products(float (&c)[M][N][4])
{
    if (!by_warpgroup())
        return;
    wgmma_wait<PENDING>();
    UNROLL for (int m = 0; m < M; m++) UNROLL for (int n = 0; n < N; n++) UNROLL for (int x = 0; x < 4; x++)
        keep_place(c[m][n][x]);
}

/* The 16 columns from column 16 k on of a left operand, as wgmma takes them. */
template <int ROWS, int DIM>
static __device__ inline InShared left_of(const Left<1, ROWS, DIM, false> &left, int k, int)
{
    static_assert(ROWS == 64, "each of four warps has 16 rows");
    return { descriptor_of(left.tile, 0, 16 * k) };
}

template <int M, int ROWS, int DIM>
static __device__ inline auto left_of(const Left<M, ROWS, DIM, true> &left, int k, int m) -> const uint32_t (&)[4]
{
    return left.held[k][m];
}

/* c = left · rightᵀ by wgmma; see multiply_transposed. */
template <int DTYPE, int M, int N, int LEFT_ROWS, int DIM, bool HELD>
static __device__ inline void wgmma_transposed(float (&c)[M][N][4], const Left<M, LEFT_ROWS, DIM, HELD> &left,
                                               const Tile<8 * N, DIM> &right)
{
    wgmma_begin();
    UNROLL for (int m = 0; m < M; m++)
    {
        wgmma<DTYPE, false, false>(c[m], left_of(left, 0, m), descriptor_of(right, 0, 0));
        UNROLL for (int k = 1; k < DIM / 16; k++)
            wgmma<DTYPE, false, true>(c[m], left_of(left, k, m), descriptor_of(right, 0, 16 * k));
    }
    wgmma_commit();
}

/* The same by mma. */
template <int DTYPE, int M, int N, int LEFT_ROWS, int DIM, bool HELD>
static __device__ inline void mma_transposed(float (&c)[M][N][4], const Left<M, LEFT_ROWS, DIM, HELD> &left,
                                             const Tile<8 * N, DIM> &right)
{
    UNROLL for (int m = 0; m < M; m++) UNROLL for (int n = 0; n < N; n++) UNROLL for (int x = 0; x < 4; x++)
        c[m][n][x] = 0;
    UNROLL for (int k = 0; k < DIM / 16; k++)
    {
        uint32_t a[M][4], b[4];
        left.get(a, k);
        UNROLL for (int n = 0; n < N; n += 2)
        {
            load_right_transposed(b, right, 8 * n, 16 * k);
            UNROLL for (int m = 0; m < M; m++)
            {
                mma<DTYPE>(c[m][n], a[m], b[0], b[1]);
                mma<DTYPE>(c[m][n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* Starts c (16 M, 8 N) = left (16 M, DIM) · rightᵀ, for a tile `right` of 8 N rows. */
template <int DTYPE, int M, int N, int LEFT_ROWS, int DIM, bool HELD>
static __device__ inline void multiply_transposed(float (&c)[M][N][4], const Left<M, LEFT_ROWS, DIM, HELD> &left,
                                                  const Tile<8 * N, DIM> &right)
{
    if (by_warpgroup())
        wgmma_transposed<DTYPE>(c, left, right);
    else
        mma_transposed<DTYPE>(c, left, right);
}

/* c (16 M, 8 N) += left (16 M, 16 K) · columns [col, col + 8 N) of right, by wgmma. */
template <int DTYPE, int M, int N, int K, int DIM>
static __device__ inline void wgmma_add(float (&c)[M][N][4], uint32_t (&left)[K][M][4], const Tile<16 * K, DIM> &right,
                                        int col)
{
    enum { AT_ONCE = N < 8 ? N : 8 }; /* times eight columns: those of a block of the tile */
    UNROLL for (int m = 0; m < M; m++)
    {
        UNROLL for (int n = 0; n < N; n++) UNROLL for (int x = 0; x < 4; x++) keep_place(c[m][n][x]);
        UNROLL for (int k = 0; k < K; k++) UNROLL for (int x = 0; x < 4; x++) keep_place(left[k][m][x]);
    }
    wgmma_begin();
    UNROLL for (int k = 0; k < K; k++) UNROLL for (int n = 0; n < N; n += AT_ONCE) UNROLL for (int m = 0; m < M; m++)
        wgmma<DTYPE, true, true>(*(float(*)[AT_ONCE][4]) & c[m][n], left[k][m],
                                 descriptor_of(right, 16 * k, col + 8 * n));
    wgmma_commit();
}

/* The same by mma. */
template <int DTYPE, int M, int N, int K, int DIM>
static __device__ inline void mma_add(float (&c)[M][N][4], const uint32_t (&left)[K][M][4],
                                      const Tile<16 * K, DIM> &right, int col)
{
    uint32_t b[4];
    UNROLL for (int k = 0; k < K; k++) UNROLL for (int n = 0; n < N; n += 2)
    {
        load_right(b, right, 16 * k, col + 8 * n);
        UNROLL for (int m = 0; m < M; m++)
        {
            mma<DTYPE>(c[m][n], left[k][m], b[0], b[1]);
            mma<DTYPE>(c[m][n + 1], left[k][m], b[2], b[3]);
        }
    }
}

/* Starts c (16 M, 8 N) += left (16 M, 8 K) · columns [col, col + 8 N) of a tile `right` of 8 K rows. `left` is the
 * result C of another product: a lane holds the same elements of C as of A, so C needs only to be rounded to 16 bits
 * and does not pass through shared memory. `left` may change at once. */
template <int DTYPE, int M, int N, int K, int DIM>
static __device__ inline void multiply_add(float (&c)[M][N][4], const float (&left)[M][K][4],
                                           const Tile<8 * K, DIM> &right, int col)
{
    uint32_t a[K / 2][M][4];
    UNROLL for (int k = 0; k < K / 2; k++) UNROLL for (int m = 0; m < M; m++) UNROLL for (int x = 0; x < 4; x++)
    {
        const float(&two)[4] = left[m][2 * k + x / 2];
        a[k][m][x] = pack_two<DTYPE>(two[x % 2 * 2], two[x % 2 * 2 + 1]);
    }
    if (by_warpgroup())
        wgmma_add<DTYPE, M, N, K / 2>(c, a, right, col);
    else
        mma_add<DTYPE, M, N, K / 2>(c, a, right, col);
}
