/* tile.c: a small matrix product by one thread. */
#include "device/cpu/bf16/panel.h"

static Source source_of(Panel panel, int64_t rows, int64_t depth, bool transposed)
{
    return (Source){ panel.p, panel.ld, rows, depth, transposed, panel.dtype == DT_F32 };
}

void bf16_tile(float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha, float beta,
               void *scratch)
{
    float sums[PANEL * PANEL] __attribute__((aligned(64)));
    Output out = { .y = { .p = y, .d = { m, n }, .ld = ldy, .rank = 2, .dtype = DT_F32 },
                   .alpha = alpha,
                   .beta = beta };
    Source left = source_of(a, m, k, a.transposed), right = source_of(b, n, k, !b.transposed);
    int64_t steps = steps_of(k), size = steps * PANEL_STEP;
    uint16_t *packed_right = scratch, *packed_left = packed_right + size;
    bf16_enter();
    bf16_pack(packed_left, left, 0, panels_of(m), LEFT);
    for (int64_t col = 0; col < n; col += PANEL) {
        bf16_pack(packed_right, right, col, 1, RIGHT);
        for (int64_t row = 0; row < m; row += PANEL) {
            bf16_product(sums, left_panel(packed_left + row / PANEL * size), packed_right, steps, false);
            bf16_write(&out, sums, row, col);
        }
    }
    bf16_leave();
}
