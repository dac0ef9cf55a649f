/* kernels_warpgroup.h: for the host, the instructions of src/device/cuda/kernels/warpgroup.h, which includes this file
 * and says what each of them does: plain C++, which reads shared memory as the descriptors say. */
#pragma once

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

template <int PENDING> static inline void wgmma_wait(void)
{
    shim_products_now(PENDING);
}
