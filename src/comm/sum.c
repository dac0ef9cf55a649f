#include "base/check.h"
#include "base/float16.h"
#include "comm/backend.h"

enum { TILE = 2048 }; /* number of elements that are summed at a time, so that the sums stay in the L1 cache */

static void add_f32(float *sum, const void *from, int64_t first, int64_t n, DType dtype)
{
    const float *f32 = (const float *)from + first;
    const uint16_t *half = (const uint16_t *)from + first;
    switch ((int)dtype) {
    case DT_F32:
        for (int64_t i = 0; i < n; i++)
            sum[i] += f32[i];
        break;
    case DT_BF16:
        for (int64_t i = 0; i < n; i++)
            sum[i] += bf16_to_f32(half[i]);
        break;
    case DT_F16:
        for (int64_t i = 0; i < n; i++)
            sum[i] += f16_to_f32(half[i]);
        break;
    default:
        CHECK(false, "a sum of %s", dtype_name(dtype));
    }
}

static void store_f32(void *to, const float *sum, int64_t first, int64_t n, DType dtype)
{
    float *f32 = (float *)to + first;
    uint16_t *half = (uint16_t *)to + first;
    for (int64_t i = 0; dtype == DT_F32 && i < n; i++)
        f32[i] = sum[i];
    for (int64_t i = 0; dtype == DT_BF16 && i < n; i++)
        half[i] = bf16_from_f32(sum[i]);
    for (int64_t i = 0; dtype == DT_F16 && i < n; i++)
        half[i] = f16_from_f32(sum[i]);
}

static void sum_f64(double *out, const void *const *from, int ranks, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int r = 0; r < ranks; r++)
            sum += ((const double *)from[r])[i];
        out[i] = sum;
    }
}

void sum_in_order(void *out, const void *const *from, int ranks, int64_t n, DType dtype)
{
    if (dtype == DT_F64) {
        sum_f64(out, from, ranks, n);
        return;
    }
    for (int64_t first = 0; first < n; first += TILE) {
        float sum[TILE] = { 0 };
        int64_t length = n - first < TILE ? n - first : TILE;
        for (int r = 0; r < ranks; r++)
            add_f32(sum, from[r], first, length, dtype);
        store_f32(out, sum, first, length, dtype);
    }
}
