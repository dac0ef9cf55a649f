/* fp8.c: emulates FP8 on processors without it: numbers are rounded to FP8 but stored in the compute dtype, which
 * represents them exactly, and multiplied with f32 sums. So a run on the CPU rounds as a run on a GPU does. */
#include "base/float8.h"
#include "device/cpu/kernels/rows.h"

#include <float.h>

enum { TILE = 64 };

/* to = float8(x · scale). Returns the largest bits of |x|: the bits of a NaN are larger than those of any number. */
ONE_LOOP static uint32_t cast_row(float *to, const float *x, int64_t n, float scale, bool e5m2)
{
    uint32_t most = 0;
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = bits_of_f32(x[i]) & 0x7FFFFFFFu;
        most = bits > most ? bits : most;
        to[i] = float8_round(x[i] * scale, e5m2);
    }
    return most;
}

/* Rows [first, first + n) of the tile at column `col` of yt's transpose become columns of yt. */
static void write_transposed(Tensor yt, int64_t first, int64_t n, int64_t col, int64_t width, float tile[TILE][TILE])
{
    for (int64_t c = 0; c < width; c++) {
        ALIGNED float column[TILE];
        for (int64_t i = 0; i < n; i++)
            column[i] = tile[i][c];
        row_write(yt, col + c, first, n, column);
    }
}

/* Rows [first, first + TILE) of x; those beyond the last one are zeros of yt. */
static uint32_t cast_tiles(Tensor y, Tensor yt, Tensor x, int64_t first, float scale, bool e5m2)
{
    int64_t rows = tensor_present(yt) ? yt.d[1] : x.d[0], n = min_i64(TILE, rows - first);
    uint32_t most = 0;
    for (int64_t col = 0; col < x.d[1]; col += TILE) {
        ALIGNED float tile[TILE][TILE], buffer[TILE];
        int64_t width = min_i64(TILE, x.d[1] - col);
        memset(tile, 0, sizeof tile);
        for (int64_t i = 0; i < min_i64(n, x.d[0] - first); i++) {
            uint32_t bits = cast_row(tile[i], row_read(buffer, x, first + i, col, width), width, scale, e5m2);
            most = bits > most ? bits : most;
            if (tensor_present(y))
                row_write(y, first + i, col, width, tile[i]);
        }
        if (tensor_present(yt))
            write_transposed(yt, first, n, col, width, tile);
    }
    return most;
}

static uint32_t cast_all(Device *dev, Tensor y, Tensor yt, Tensor x, float scale, bool e5m2)
{
    int64_t rows = tensor_present(yt) ? yt.d[1] : x.d[0], tiles = (rows + TILE - 1) / TILE;
    uint32_t most = 0;
#pragma omp parallel for num_threads(team(dev, tensor_count(x))) schedule(static) reduction(max : most)
    for (int64_t t = 0; t < tiles; t++) {
        uint32_t bits = cast_tiles(y, yt, x, t * TILE, scale, e5m2);
        most = bits > most ? bits : most;
    }
    return most;
}

void KERNEL(fp8_cast)(Device *dev, Tensor y, Tensor yt, Tensor amax, Tensor x, Tensor scale, bool e5m2)
{
    uint32_t most = cast_all(dev, y, yt, x, *(const float *)scale.p, e5m2);
    if (!tensor_present(amax))
        return;
    float *known = amax.p;
    if (most > bits_of_f32(*known))
        *known = f32_of_bits(most);
}

/* The scale by an amax, or `other` where the amax is 0 or not finite. */
static float scale_by(uint32_t most, int32_t margin, bool e5m2, float other)
{
    float amax = f32_of_bits(most), scale = float8_largest(e5m2) / amax / ldexpf(1, margin);
    if (most == 0 || most >= 0x7F800000u)
        return other;
    return isinf(scale) ? FLT_MAX : scale;
}

void KERNEL(fp8_scale)(Device *dev, Tensor scale, Tensor inverse, Tensor x, int32_t margin, bool e5m2)
{
    float *to = scale.p, *back = inverse.p;
    *to = scale_by(cast_all(dev, NO_TENSOR, NO_TENSOR, x, 1, e5m2), margin, e5m2, 1);
    *back = 1 / *to;
}

void KERNEL(fp8_update)(Device *dev, Tensor scale, Tensor inverse, Tensor history, int32_t margin, bool e5m2)
{
    float *scales = scale.p;
    int64_t length = history.d[1];
#pragma omp parallel for num_threads(team(dev, tensor_count(history))) schedule(static)
    for (int64_t row = 0; row < history.d[0]; row++) {
        float *amax = row_of(history, row), newest = length > 0 ? amax[0] : 0;
        uint32_t most = 0;
        for (int64_t t = 0; t < length; t++) {
            uint32_t bits = bits_of_f32(amax[t]);
            most = bits > most ? bits : most;
        }
        scales[row] = scale_by(most, margin, e5m2, scales[row]);
        *(float *)row_of(inverse, row) = 1 / scales[row];
        if (length == 0)
            continue;
        memmove(amax, amax + 1, (size_t)(length - 1) * sizeof *amax);
        amax[length - 1] = newest;
        amax[0] = 0;
    }
}

void KERNEL(fp8_linear)(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, Tensor a_inverse, Tensor b_inverse,
                        float beta)
{
    float alpha = *(const float *)a_inverse.p * *(const float *)b_inverse.p;
    cpu_gemm(dev, y, a, b, bias, false, true, alpha, beta);
}
