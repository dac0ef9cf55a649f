/* fragments.h: products of small matrices on tensor cores: the instructions mma.sync.m16n8k16 (bf16 or f16, with f32
 * sums), ldmatrix and cp.async, which all GPUs of compute capability 8.0 and later have. For the tests' simulated GPU,
 * tests/shim/kernels_fragments.h has each of them in plain C++.
 *
 * mma computes C (16,8) += A (16,16) B (16,8). The matrices are spread over the 32 lanes of a warp; a register of A or
 * B holds two 16-bit numbers, the one with the lower index in its low half (PTX ISA, "Matrix Fragments for
 * mma.m16n8k16"). With g = lane / 4 and t = lane % 4 a lane holds
 *   of A:  a[0] row g, columns 2t and 2t + 1;       a[1] the same columns of row g + 8;
 *          a[2] row g, columns 2t + 8 and 2t + 9;   a[3] the same columns of row g + 8
 *   of B:  b[0] column g, rows 2t and 2t + 1;       b[1] column g, rows 2t + 8 and 2t + 9
 *   of C:  c[0], c[1] row g, columns 2t and 2t + 1; c[2], c[3] the same columns of row g + 8 (f32) */
#pragma once

#include "device/cuda/kernels/reduce.h"
#include "device/cuda/kernels/view.h"

/* A matrix in shared memory: ROWS rows of DIM 16-bit numbers, in blocks of WIDTH columns. The chunks of 16 bytes of a
 * row are exchanged by the number of the row, so that eight rows at the same columns lie in different banks: chunk c of
 * row r of a block lies at c ^ r % 8 with 64 columns, at c ^ r / 2 % 4 with 32. These are the 128-byte and the 64-byte
 * swizzle of wgmma (PTX ISA, "Swizzling modes"), which wants tiles at multiples of 1,024 bytes. */
template <int ROWS, int DIM> struct __align__(1024) Tile
{
    enum { WIDTH = DIM < 64 ? DIM : 64 };
    static_assert(DIM == 32 || DIM % 64 == 0, "rows of a block are 64 or 128 bytes");
    uint16_t of[DIM / WIDTH][ROWS][WIDTH];

    /* Of a row's columns [col, col + 8), for a multiple of 8 `col`: bytes from the tile's first, and the address. */
    static __device__ inline uint32_t offset(int row, int col)
    {
        unsigned r = (unsigned)row, c = (unsigned)col, chunk = c % WIDTH / 8 ^ (WIDTH == 64 ? r % 8 : r / 2 % 4);
        return (c / WIDTH * ROWS + r) * WIDTH * 2 + chunk * 16;
    }
    __device__ inline uint16_t *at(int row, int col)
    {
        return (uint16_t *)((char *)of + offset(row, col));
    }
    __device__ inline const uint16_t *at(int row, int col) const
    {
        return const_cast<Tile *>(this)->at(row, col);
    }
};

/* g of the calling lane (see above). */
static __device__ inline int lane_row(void)
{
    return lane_number() / 4;
}

/* 2t of the calling lane (see above). */
static __device__ inline int lane_col(void)
{
    return lane_number() % 4 * 2;
}

/* Two numbers in a register. */
template <int DTYPE> static __device__ inline uint32_t pack_two(float low, float high)
{
    return DTYPE == DT_BF16 ? two_bf16(low, high) : two_f16(low, high);
}

/* keep_place ties a register to a place in the order of the instructions: what changes it stays before, what reads
 * it after, and what was computed is not computed again. */
#ifdef SHIM
#include <shim/kernels_fragments.h>
#else
static __device__ inline void keep_place(float &x)
{
    asm volatile("" : "+f"(x)::"memory");
}

static __device__ inline void keep_place(uint32_t &x)
{
    asm volatile("" : "+r"(x)::"memory");
}

static __device__ inline void keep_place(int &x)
{
    asm volatile("" : "+r"(x)::"memory");
}

template <class T> static __device__ inline void keep_place(T *&p)
{
    asm volatile("" : "+l"(p)::"memory");
}

/* The address of shared memory as instructions take it. */
static __device__ inline uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* mma: C += A B. */
template <int DTYPE> static __device__ inline void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    if (DTYPE == DT_BF16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* ldmatrix: loads four matrices (8,8) of 16-bit numbers from shared memory. `row` of lanes 8m … 8m + 7 is the address
 * of a row of matrix m. words[m] becomes columns 2t and 2t + 1 of row g of matrix m; with TRANSPOSED rows 2t and 2t + 1
 * of its column g. */
template <bool TRANSPOSED> static __device__ inline void load_matrices(uint32_t (&words)[4], const uint16_t *row)
{
    uint32_t address = shared_address(row);
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(address)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(address)
                     : "memory");
}

/* Starts an asynchronous copy of 16 bytes to shared memory, from an address that is a multiple of 16; zeros arrive, and
 * nothing is read, if `there` is false. It is complete after the thread has called copy_wait; after a barrier then,
 * wgmma of any thread reads what was copied, too. */
static __device__ inline void copy_async(uint16_t *shared, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
}

static __device__ inline void copy_wait(void)
{
    asm volatile("cp.async.wait_all;" ::: "memory");
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("fence.proxy.async.shared::cta;" ::
                     : "memory"); /* wgmma reads by another way than other instructions */
#endif
}
#endif

/* Loads an A: rows [row, row + 16) and columns [col, col + 16) of the tile. */
template <int ROWS, int DIM>
static __device__ inline void load_left(uint32_t (&a)[4], const Tile<ROWS, DIM> &tile, int row, int col)
{
    int lane = lane_number();
    load_matrices<false>(a, tile.at(row + lane % 16, col + lane / 16 * 8));
}

/* Loads two B whose columns are rows of the tile: b[0], b[1] from rows [row, row + 8), b[2], b[3] from rows [row + 8,
 * row + 16), both from columns [col, col + 16). */
template <int ROWS, int DIM>
static __device__ inline void load_right_transposed(uint32_t (&b)[4], const Tile<ROWS, DIM> &tile, int row, int col)
{
    int lane = lane_number();
    load_matrices<false>(b, tile.at(row + lane % 8 + lane / 16 * 8, col + lane / 8 % 2 * 8));
}

/* Loads two B from rows [row, row + 16) of the tile: b[0], b[1] from columns [col, col + 8), b[2], b[3] from columns
 * [col + 8, col + 16). */
template <int ROWS, int DIM>
static __device__ inline void load_right(uint32_t (&b)[4], const Tile<ROWS, DIM> &tile, int row, int col)
{
    int lane = lane_number();
    load_matrices<true>(b, tile.at(row + lane % 16, col + lane / 16 * 8));
}

/* Rows [row, row + 16 M) of a tile as the left operand of a product. HELD: true means that hold() loads them into
 * registers, from which all products take them; false means that each product loads them from shared memory. */
template <int M, int ROWS, int DIM, bool HELD> struct Left {
    const Tile<ROWS, DIM> &tile;
    int row;
    uint32_t held[HELD ? DIM / 16 : 1][M][4];

    __device__ inline void hold(void)
    {
        if (HELD)
            UNROLL for (int k = 0; k < DIM / 16; k++) UNROLL for (int m = 0; m < M; m++)
                load_left(held[HELD ? k : 0][m], tile, row + 16 * m, 16 * k);
    }
    __device__ inline void get(uint32_t (&a)[M][4], int k) const
    {
        UNROLL for (int m = 0; m < M; m++) if (HELD) UNROLL for (int x = 0; x < 4; x++) a[m][x] =
            held[HELD ? k : 0][m][x];
        else load_left(a[m], tile, row + 16 * m, 16 * k);
    }
};

/* Copies tiles of COUNT matrices of the same shape to shared memory, by THREADS threads of a block: each copies the
 * same VEC columns of rows that are STEP apart, and keeps what does not change from tile to tile. */
template <int COUNT, int THREADS, int ROWS, int DIM> struct TileCopy {
    enum { ACROSS = DIM / VEC, STEP = THREADS / ACROSS };
    static_assert(THREADS % ACROSS == 0 && ROWS % STEP == 0 && STEP % 4 == 0, "all threads copy equally many rows");
    const uint16_t *from[COUNT]; /* the thread's columns of its first row */
    uint32_t to;                 /* where they go, in bytes from the tile's first */
    int rows;                    /* the number of rows that exist, from that row on */

    /* Rows [first, end) and columns [channel, channel + dim); channel and dim are multiples of VEC. */
    __device__ inline void open(int64_t first, int64_t end, int64_t channel, int dim, const View (&x)[COUNT])
    {
        int r = (int)threadIdx.x / ACROSS, c = (int)threadIdx.x % ACROSS * VEC;
        for (int i = 0; i < COUNT; i++) {
            from[i] = (const uint16_t *)x[i].p + (first + r) * x[i].ld + channel + c;
            keep_place(from[i]);
        }
        to = Tile<ROWS, DIM>::offset(r, c);
        rows = c < dim ? (int)(end - first) - r : 0;
        keep_place(to);
        keep_place(rows);
    }
    /* Starts to copy rows [row, row + ROWS), counted from `first`, of matrix i, whose rows are `ld` apart, from
     * `column` columns further right than `channel`. Rows that do not exist, and columns of the tile from `dim`
     * on, become zeros. The tile is complete after copy_wait and a barrier. */
    __device__ inline void start(Tile<ROWS, DIM> *tile, int i, int64_t ld, int row, int64_t column) const
    {
        const uint16_t *at = from[i] + row * ld + column;
        UNROLL for (int k = 0; k < ROWS; k += STEP) /* four rows on, bit 2 of the chunk's number changes */
            copy_async((uint16_t *)((char *)tile + (to ^ (unsigned)k % 8 * 16) + k * Tile<ROWS, DIM>::WIDTH * 2),
                       at + k * ld, row + k < rows);
    }
};

/* Starts to copy rows [first, first + ROWS) of x, up to row `end`, likewise. */
template <int THREADS, int ROWS, int DIM>
static __device__ inline void stage_rows(Tile<ROWS, DIM> *tile, const View &x, int64_t first, int64_t end,
                                         int64_t channel, int dim)
{
    TileCopy<1, THREADS, ROWS, DIM> copy;
    copy.open(first, end, channel, dim, { x });
    copy.start(tile, 0, x.ld, 0, 0);
}

/* Stores two numbers in columns col and col + 1 of a row, rounded to DTYPE; the first if n is 1, none if n <= 0. */
template <int DTYPE>
static __device__ inline void store_pair(const View &y, int64_t row, int64_t col, int64_t n, float first, float second)
{
    uint32_t both = pack_two<DTYPE>(first, second);
    uint16_t *at = (uint16_t *)place(y, row, col);
    if (n >= 2 && (uintptr_t)at % 4 == 0) {
        *(uint32_t *)at = both;
    } else {
        if (n >= 1)
            at[0] = (uint16_t)both;
        if (n >= 2)
            at[1] = (uint16_t)(both >> 16);
    }
}
