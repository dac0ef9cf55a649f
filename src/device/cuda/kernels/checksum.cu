/* checksum.cu: the checksum of a matrix, by which two results are compared. */
#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/reduce.h"

enum { SUM_THREADS = 256 };

/* The finalizer of SplitMix64. */
static __device__ inline unsigned long long mixed(unsigned long long x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

/* partial (gridDim.x): the checksum of rows blockIdx.x, blockIdx.x + gridDim.x, … infinity: the bits of an exponent
 * that infinities and NaN have. */
template <class Word>
static __global__ void __launch_bounds__(SUM_THREADS)
    checksum_kernel(const Word *y, int64_t rows, int64_t cols, int64_t ld, Word infinity, Checksum *partial)
{
    begin_kernel();
    PerWarp<unsigned long long> *parts = block_shared<PerWarp<unsigned long long>>();
    unsigned long long sum = 0, filled = 0;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
        for (int64_t col = threadIdx.x; col < cols; col += blockDim.x) {
            const Word word = y[row * ld + col];
            sum += mixed((unsigned long long)(row * cols + col) << 32 ^ word);
            filled += (Word)(word << 1) != 0 && (word & infinity) != infinity; /* -0 is 0 */
        }
    sum = row_sum(sum, parts);
    filled = row_sum(filled, parts);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = { sum, filled };
}

int gpu_checksum(Gpu *gpu, Checksum *partial, Tensor y)
{
    const Shape shape = { (unsigned)least(rows_of(y), CHECKSUM_BLOCKS), 1, SUM_THREADS, 1 };
    const uint16_t infinity = y.dtype == DT_BF16 ? 0x7F80 : 0x7C00;
    if (y.dtype == DT_F32)
        launch(gpu, shape, checksum_kernel<uint32_t>, (const uint32_t *)y.p, rows_of(y), cols_of(y), y.ld, 0x7F800000u,
               partial);
    else
        launch(gpu, shape, checksum_kernel<uint16_t>, (const uint16_t *)y.p, rows_of(y), cols_of(y), y.ld, infinity,
               partial);
    return (int)shape.blocks_x;
}
