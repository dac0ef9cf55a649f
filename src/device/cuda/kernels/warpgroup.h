/* warpgroup.h: the instruction wgmma.m64nNk16 of GPUs of compute capability 9.0 (bf16 or f16, with f32 sums), which
 * four warps, a warpgroup, run together and which works while they go on. For the tests' simulated GPU,
 * tests/shim/kernels_warpgroup.h has it in plain C++.
 *
 * wgmma computes C (64,N) += A (64,16) B (16,N). Warp w of the warpgroup has rows [16w, 16w + 16) of C, as N / 8
 * matrices C of mma beside each other (fragments.h). A comes from registers, 16 rows of each warp as A of mma, or from
 * shared memory; B comes from shared memory. A descriptor (PTX ISA, "Matrix Descriptor Format") says how a matrix lies
 * there: the address / 16 in bits 0 … 13, the distance between groups of eight rows / 16 in bits 32 … 45, the swizzle
 * in bits 62 and 63 (1: 128 bytes, 2: 64 bytes). The distance between blocks of columns, bits 16 … 29, is not used: no
 * matrix here is wider than a block of its Tile.
 *
 * The order is: wgmma_begin, after the last change of a register of C or A; products; wgmma_commit, which makes them a
 * group; wgmma_wait. Before that, nothing may read C, change A or write to the matrices in shared memory. */
#pragma once

#include "device/cuda/kernels/fragments.h"

/* A (64,16) in shared memory. */
struct InShared {
    uint64_t descriptor;
};

/* The descriptor of a matrix that begins at `row`, a multiple of 8, and column `col`, a multiple of 16, of a tile. */
template <int ROWS, int DIM>
static __device__ inline uint64_t descriptor_of(const Tile<ROWS, DIM> &tile, int row, int col)
{
    enum { WIDTH = Tile<ROWS, DIM>::WIDTH, BYTES = WIDTH * 2, SWIZZLE = WIDTH == 64 ? 1 : 2 };
    uint32_t from = (uint32_t)(col / WIDTH * ROWS * BYTES + row * BYTES + col % WIDTH * 2); /* of the tile's bytes */
    uint32_t low = (shared_address(&tile) >> 4) + (from >> 4) + (1u << 16);
    return low | (uint64_t)(8 * BYTES >> 4 | (uint32_t)SWIZZLE << 30) << 32;
}

#ifdef SHIM
#include <shim/kernels_warpgroup.h>
#else
/* Whether products of tiles are made by wgmma. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
static __device__ constexpr bool by_warpgroup(void)
{
    return true;
}
#else
static __device__ constexpr bool by_warpgroup(void)
{
    return false;
}
#endif

#define SUMS(n) "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
/* The text of a product: columns, dtype, registers of C, A, B, whether C is added to, forms of the matrices. */
#define WGMMA_TEXT(N, TYPE, C, A, B, ADDED, FORMS)                                                                     \
    "{.reg .pred added; setp.ne.b32 added, " ADDED ", 0; wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE         \
    "." TYPE " {" C "}, " A ", " B ", added, 1, 1, " FORMS ";}"
/* One instruction for each dtype. */
#define WGMMA_OF(N, C, A, B, ADDED, FORMS, ...)                                                                        \
    do {                                                                                                               \
        if (DTYPE == DT_BF16)                                                                                          \
            asm volatile(WGMMA_TEXT(N, "bf16", C, A, B, ADDED, FORMS) : __VA_ARGS__ : "memory");                       \
        else                                                                                                           \
            asm volatile(WGMMA_TEXT(N, "f16", C, A, B, ADDED, FORMS) : __VA_ARGS__ : "memory");                        \
    } while (0)

#define SUMS_16 "%0,%1,%2,%3,%4,%5,%6,%7"
#define SUMS_32 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define SUMS_64                                                                                                        \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                                                           \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"

/* C = A B, or C += A B with ADD. The rows of B's matrix in shared memory are its columns; with TRANSPOSED its rows. */
template <int DTYPE, bool TRANSPOSED, bool ADD>
static __device__ inline void wgmma(float (&c)[2][4], const uint32_t (&a)[4], uint64_t b)
{
    WGMMA_OF(16, SUMS_16, "{%8,%9,%10,%11}", "%12", "%13", "%14", SUMS(0), SUMS(1)
             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"((int)ADD), "n"((int)TRANSPOSED));
}

template <int DTYPE, bool TRANSPOSED, bool ADD>
static __device__ inline void wgmma(float (&c)[2][4], const InShared &a, uint64_t b)
{
    WGMMA_OF(16, SUMS_16, "%8", "%9", "%10", "0, %11", SUMS(0), SUMS(1)
             : "l"(a.descriptor), "l"(b), "n"((int)ADD), "n"((int)TRANSPOSED));
}

template <int DTYPE, bool TRANSPOSED, bool ADD>
static __device__ inline void wgmma(float (&c)[4][4], const uint32_t (&a)[4], uint64_t b)
{
    WGMMA_OF(32, SUMS_32, "{%16,%17,%18,%19}", "%20", "%21", "%22", SUMS(0), SUMS(1), SUMS(2), SUMS(3)
             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"((int)ADD), "n"((int)TRANSPOSED));
}

template <int DTYPE, bool TRANSPOSED, bool ADD>
static __device__ inline void wgmma(float (&c)[4][4], const InShared &a, uint64_t b)
{
    WGMMA_OF(32, SUMS_32, "%16", "%17", "%18", "0, %19", SUMS(0), SUMS(1), SUMS(2), SUMS(3)
             : "l"(a.descriptor), "l"(b), "n"((int)ADD), "n"((int)TRANSPOSED));
}

template <int DTYPE, bool TRANSPOSED, bool ADD>
static __device__ inline void wgmma(float (&c)[8][4], const uint32_t (&a)[4], uint64_t b)
{
    WGMMA_OF(64, SUMS_64, "{%32,%33,%34,%35}", "%36", "%37", "%38", SUMS(0), SUMS(1), SUMS(2), SUMS(3), SUMS(4),
             SUMS(5), SUMS(6), SUMS(7)
             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"((int)ADD), "n"((int)TRANSPOSED));
}

template <int DTYPE, bool TRANSPOSED, bool ADD>
static __device__ inline void wgmma(float (&c)[8][4], const InShared &a, uint64_t b)
{
    WGMMA_OF(64, SUMS_64, "%32", "%33", "%34", "0, %35", SUMS(0), SUMS(1), SUMS(2), SUMS(3), SUMS(4), SUMS(5), SUMS(6),
             SUMS(7)
             : "l"(a.descriptor), "l"(b), "n"((int)ADD), "n"((int)TRANSPOSED));
}

static __device__ inline void wgmma_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ inline void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits for all groups but the last PENDING ones. */
template <int PENDING> static __device__ inline void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
#endif
