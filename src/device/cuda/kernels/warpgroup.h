/* warpgroup.h: the instruction wgmma.m64nNk16 of GPUs of compute capability 9.0 (bf16 or f16, with f32 sums), which
 * four warps, a warpgroup, run together and which works while they go on. For the tests' simulated GPU it is written as
 * plain C++, too, which reads shared memory as the descriptors say.
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

/* The descriptor of a matrix that begins at row `row`, a multiple of 8, and column `col`, a multiple of 16, of a
 * tile. */
template <int ROWS, int DIM>
static __device__ inline uint64_t descriptor_of(const Tile<ROWS, DIM> &tile, int row, int col)
{
    enum { WIDTH = Tile<ROWS, DIM>::WIDTH, BYTES = WIDTH * 2, SWIZZLE = WIDTH == 64 ? 1 : 2 };
    uint32_t from = (uint32_t)(col / WIDTH * ROWS * BYTES + row * BYTES + col % WIDTH * 2); /* of the tile's bytes */
    uint32_t low = (shared_address(&tile) >> 4) + (from >> 4) + (1u << 16);
    return low | (uint64_t)(8 * BYTES >> 4 | (uint32_t)SWIZZLE << 30) << 32;
}

#ifdef SHIM
/* Whether products of tiles are made by wgmma. */
static inline bool by_warpgroup(void)
{
    return shim_by_wgmma();
}

/* Elements (row, col) and (row, col + 1) of the matrix of a descriptor, by its rows in shared memory; col is even. */
static inline uint32_t described(uint64_t descriptor, int row, int col)
{
    uint32_t group = (uint32_t)(descriptor >> 32 & 0x3FFF) << 4, swizzle = (uint32_t)(descriptor >> 62);
    uint32_t bytes = swizzle == 1 ? 128 : 64, chunks = bytes / 16;
    uint32_t at = ((uint32_t)(descriptor & 0x3FFF) << 4) + (uint32_t)row / 8 * group + (uint32_t)row % 8 * bytes +
                  (uint32_t)col * 2;
    return *(const uint32_t *)shim_shared_at(at ^ (at >> 7 & (chunks - 1)) << 4);
}

/* Makes the calling lane's part of a product: rows g and g + 8 of its warp, columns 2t and 2t + 1 of each eight. */
template <int DTYPE> static inline void make_product(const ShimProduct *product)
{
    float left[2][16], right[2][16];
    int row = (int)threadIdx.x / WARP % 4 * 16 + lane_row(); /* of the thread's warpgroup */
    for (int r = 0; r < 2; r++)
        for (int k = 0; k < 16; k += 2)
            unpack(&left[r][k], product->left ? described(product->left, row + 8 * r, k) : product->held[r][k / 2],
                   DTYPE);
    for (int n = 0; n < product->columns / 8; n++) {
        int column = 8 * n + lane_col();
        float two[2], *sums = product->sums[n];
        for (int k = 0; k < 16; k++)
            if (product->transposed) {
                unpack(two, described(product->right, k, column), DTYPE);
                right[0][k] = two[0];
                right[1][k] = two[1];
            } else {
                unpack(&right[k / 8][k % 8 * 2], described(product->right, column + k / 8, k % 8 * 2), DTYPE);
            }
        for (int i = 0; i < 4; i++) {
            float sum = product->add ? sums[i] : 0;
            for (int k = 0; k < 16; k++)
                sum += left[i / 2][k] * right[i % 2][k];
            sums[i] = sum;
        }
    }
}

/* C = A B, or C += A B with ADD. The rows of B's matrix in shared memory are its columns; with TRANSPOSED its rows. */
template <int DTYPE, bool TRANSPOSED, bool ADD, int N>
static inline void wgmma(float (&c)[N][4], const uint32_t (&a)[4], uint64_t b)
{
    ShimProduct product = { make_product<DTYPE>, c, 8 * N, ADD, TRANSPOSED, 0, b, {} };
    for (int upper = 0; upper < 2; upper++) {
        const uint64_t *words = shim_meet((uint64_t)a[2 * upper + 1] << 32 | a[2 * upper]);
        for (int k = 0; k < 4; k++)
            for (int r = 0; r < 2; r++)
                product.held[r][4 * upper + k] = (uint32_t)(words[4 * lane_row() + k] >> 32 * r);
    }
    shim_product_later(&product);
}

template <int DTYPE, bool TRANSPOSED, bool ADD, int N>
static inline void wgmma(float (&c)[N][4], const InShared &a, uint64_t b)
{
    ShimProduct product = { make_product<DTYPE>, c, 8 * N, ADD, TRANSPOSED, a.descriptor, b, {} };
    shim_product_later(&product);
}

static inline void wgmma_begin(void)
{
}

static inline void wgmma_commit(void)
{
    shim_products_commit();
}

/* Waits for all groups but the last PENDING ones. */
template <int PENDING> static inline void wgmma_wait(void)
{
    shim_products_now(PENDING);
}
#else
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

template <int PENDING> static __device__ inline void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
#endif
