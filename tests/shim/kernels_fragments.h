/* kernels_fragments.h: for the host, the instructions of src/device/cuda/kernels/fragments.h, which includes this file
 * and says what each of them does: plain C++ that leaves the same numbers in the same registers of the same lanes. */
#pragma once

template <class T> static inline void keep_place(T &)
{
}

static inline uint32_t shared_address(const void *p)
{
    return shim_shared_address(p);
}

template <int DTYPE> static inline float number_of(uint32_t word, int half)
{
    float x[2];
    unpack(x, word, DTYPE);
    return x[half];
}

template <int DTYPE> static inline void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    int g = lane_row(), column = lane_col();
    float left[2][16], right[2][16]; /* left: rows g and g + 8 of A; right: columns 2t and 2t + 1 of B */
    for (int upper = 0; upper < 2; upper++) {
        const uint64_t *words = shim_meet((uint64_t)a[2 * upper + 1] << 32 | a[2 * upper]);
        for (int k = 0; k < 8; k++)
            for (int r = 0; r < 2; r++)
                left[r][8 * upper + k] = number_of<DTYPE>((uint32_t)(words[4 * g + k / 2] >> 32 * r), k % 2);
    }
    const uint64_t *words = shim_meet((uint64_t)b1 << 32 | b0);
    for (int k = 0; k < 16; k++)
        for (int e = 0; e < 2; e++)
            right[e][k] = number_of<DTYPE>((uint32_t)(words[4 * (column + e) + k % 8 / 2] >> 32 * (k / 8)), k % 2);
    for (int r = 0; r < 2; r++)
        for (int e = 0; e < 2; e++)
            for (int k = 0; k < 16; k++)
                c[2 * r + e] += left[r][k] * right[e][k];
}

template <bool TRANSPOSED> static inline void load_matrices(uint32_t (&words)[4], const uint16_t *row)
{
    CHECK((uintptr_t)row % 16 == 0, "ldmatrix of an address that is no multiple of 16");
    const uint64_t *rows = shim_meet((uint64_t)(uintptr_t)row);
    int g = lane_row(), column = lane_col();
    for (int m = 0; m < 4; m++) {
        uint32_t two[2];
        for (int e = 0; e < 2; e++) {
            int r = TRANSPOSED ? column + e : g, c = TRANSPOSED ? g : column + e;
            two[e] = ((const uint16_t *)(uintptr_t)rows[8 * m + r])[c];
        }
        words[m] = two[0] | two[1] << 16;
    }
}

static inline void copy_async(uint16_t *shared, const void *from, bool there)
{
    alignas(16) static const uint16_t zeros[8] = {};
    shim_copy_later(shared, there ? from : zeros, 16);
}

static inline void copy_wait(void)
{
    shim_copy_now();
    shim_fence_async();
}
