/* product.c: the product of two panels, on AMX's tiles or in registers of AVX-512. */
#include "device/cpu/bf16/panel.h"

#include <immintrin.h>

#ifdef __AMX_BF16__

/* Tiles 0 to 3 hold the sums, 4 and 5 blocks of the left panel, 6 and 7 of the right one, all of 16 rows of 64 bytes.
 * Static, because gcc's intrinsic does not say that it reads all of it. */
static const struct __attribute__((packed)) TileConfig {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tiles = { .palette = 1, .row_bytes = { [0 ... 7] = STEP * sizeof(uint16_t) }, .rows = { [0 ... 7] = SIDE } };

void bf16_enter(void)
{
    _tile_loadconfig(&tiles);
}

void bf16_leave(void)
{
    _tile_release();
    _mm_sfence();
}

enum { SUMS_STRIDE = PANEL * sizeof(float), LOWER_SUMS = SIDE * PANEL };

void bf16_product(float *sums, Left left, const uint16_t *right, int64_t steps, bool add)
{
    if (add) {
        _tile_loadd(0, sums, SUMS_STRIDE);
        _tile_loadd(1, sums + SIDE, SUMS_STRIDE);
        _tile_loadd(2, sums + LOWER_SUMS, SUMS_STRIDE);
        _tile_loadd(3, sums + LOWER_SUMS + SIDE, SUMS_STRIDE);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    int64_t stride = left.ld * (int64_t)sizeof *left.p;
    for (int64_t i = 0; i < steps; i++) {
        const uint16_t *upper = left.p + i * left.step, *columns = right + i * PANEL_STEP;
        _tile_loadd(6, columns, 64);
        /* A streaming load, which does not evict the right panel from the L1 cache. */
        _tile_stream_loadd(4, upper, stride);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, columns + BLOCK, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_stream_loadd(5, upper + left.lower, stride);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, SUMS_STRIDE);
    _tile_stored(1, sums + SIDE, SUMS_STRIDE);
    _tile_stored(2, sums + LOWER_SUMS, SUMS_STRIDE);
    _tile_stored(3, sums + LOWER_SUMS + SIDE, SUMS_STRIDE);
}

#else

void bf16_enter(void)
{
}

void bf16_leave(void)
{
    _mm_sfence();
}

enum { ROWS = 8 }; /* rows whose sums of PANEL columns are kept in registers (16 of the 32 registers) */

static inline __m512bh pair_of_row(const uint16_t *p)
{
    int32_t pair;
    __builtin_memcpy(&pair, p, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
}

static void product_of_rows(float *sums, const uint16_t *left, Left shape, const uint16_t *right, int64_t steps,
                            bool add)
{
    __m512 sum[ROWS][2];
    for (int r = 0; r < ROWS; r++)
        for (int h = 0; h < 2; h++)
            sum[r][h] = add ? _mm512_load_ps(sums + r * PANEL + h * SIDE) : _mm512_setzero_ps();
    for (int64_t i = 0; i < steps; i++, left += shape.step, right += PANEL_STEP)
        for (int pair = 0; pair < STEP / 2; pair++) {
            __m512bh first = (__m512bh)_mm512_load_si512(right + pair * 2 * SIDE);
            __m512bh second = (__m512bh)_mm512_load_si512(right + BLOCK + pair * 2 * SIDE);
#pragma GCC unroll 8
            for (int r = 0; r < ROWS; r++) {
                __m512bh own = pair_of_row(left + r * shape.ld + 2 * pair);
                sum[r][0] = _mm512_dpbf16_ps(sum[r][0], own, first);
                sum[r][1] = _mm512_dpbf16_ps(sum[r][1], own, second);
            }
        }
    for (int r = 0; r < ROWS; r++)
        for (int h = 0; h < 2; h++)
            _mm512_store_ps(sums + r * PANEL + h * SIDE, sum[r][h]);
}

void bf16_product(float *sums, Left left, const uint16_t *right, int64_t steps, bool add)
{
    for (int64_t row = 0; row < PANEL; row += ROWS)
        product_of_rows(sums + row * PANEL, left.p + row / SIDE * left.lower + row % SIDE * left.ld, left, right, steps,
                        add);
}

#endif
