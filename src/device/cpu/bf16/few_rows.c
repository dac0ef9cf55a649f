/* few_rows.c: matrix products y = alpha x wᵀ + beta y + bias with few rows of x, as in decoding. Such a product takes
 * as long as reading the weights from memory, so the weights are read once, in place, and only x is packed. */
#include "device/cpu/bf16/panel.h"

#include <immintrin.h>

typedef struct FewRows {
    Output to;
    Tensor x;
    Source w;
    int64_t panels, steps; /* panels of w; steps of the depth */
    uint16_t *packed_x;    /* right panels of x, if the product reads panels */
    uint16_t *last;        /* memory for the last panel of w, which is packed if it has fewer rows than a panel */
} FewRows;

#ifdef __AMX_BF16__

enum { MOST_ROWS = 4 * SIDE, PACKS_X = 1 };

/* sums (tiles, SIDE of w, SIDE of x) = w xᵀ. Each row of w lies in its own page, too many pages for the hardware
 * prefetcher: so this prefetches the same columns, two cache lines, of the rows that come AHEAD rows later. */
static void side_sums(float *sums, const FewRows *p, const uint16_t *w, int64_t ld, int64_t step, int64_t tiles)
{
    enum { AHEAD = 2 * SIDE };
    const uint16_t *x = p->packed_x, *other_x = x + p->steps * PANEL_STEP;
    int64_t stride = ld * (int64_t)sizeof *w;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t i = 0; i < p->steps; i++, w += step, x += PANEL_STEP, other_x += PANEL_STEP) {
        for (int64_t r = 0; r < SIDE && i % 2 == 0; r++) {
            __builtin_prefetch(w + (AHEAD + r) * ld, 0, 2);
            __builtin_prefetch(w + (AHEAD + r) * ld + STEP, 0, 2);
        }
        _tile_loadd(4, w, stride);
        _tile_loadd(5, x, 64);
        _tile_dpbf16ps(0, 4, 5);
        if (tiles > 1) {
            _tile_loadd(6, x + BLOCK, 64);
            _tile_dpbf16ps(1, 4, 6);
        }
        if (tiles > 2) {
            _tile_loadd(7, other_x, 64);
            _tile_dpbf16ps(2, 4, 7);
        }
        if (tiles > 3) {
            _tile_loadd(5, other_x + BLOCK, 64);
            _tile_dpbf16ps(3, 4, 5);
        }
    }
    _tile_stored(0, sums, 64);
    _tile_stored(1, sums + SIDE * SIDE, 64);
    _tile_stored(2, sums + 2 * SIDE * SIDE, 64);
    _tile_stored(3, sums + 3 * SIDE * SIDE, 64);
}

/* out (rows of x, PANEL) = x wᵀ for a panel of w. */
static void panel_sums(float *out, const FewRows *p, Left w)
{
    float sums[MOST_ROWS * SIDE] __attribute__((aligned(64)));
    int64_t rows = p->x.d[0], tiles = (rows + SIDE - 1) / SIDE;
    for (int64_t side = 0; side < 2; side++) {
        side_sums(sums, p, w.p + side * w.lower, w.ld, w.step, tiles);
        for (int64_t row = 0; row < rows; row++)
            for (int64_t i = 0; i < SIDE; i++)
                out[row * PANEL + side * SIDE + i] = sums[row / SIDE * SIDE * SIDE + i * SIDE + row % SIDE];
    }
}

#else

enum { MOST_ROWS = SIDE, PACKS_X = 0, ROWS_OF_X = 4, ROWS_OF_W = 2 };

static inline __m512bh step_at(const uint16_t *p)
{
    return (__m512bh)_mm512_loadu_si512(p);
}

/* out (n,ROWS_OF_W) = x wᵀ for n ≤ ROWS_OF_X rows of x; the sums of the others are not used. */
static void dots(float *out, const FewRows *p, const uint16_t *w, Left shape, int64_t row, int64_t n)
{
    const uint16_t *x[ROWS_OF_X];
    __m512 sums[ROWS_OF_X][ROWS_OF_W];
    for (int64_t m = 0; m < ROWS_OF_X; m++) {
        x[m] = (const uint16_t *)p->x.p + (row + min_i64(m, n - 1)) * p->x.ld;
        sums[m][0] = sums[m][1] = _mm512_setzero_ps();
    }
    for (int64_t i = 0; i < p->steps; i++) {
        __m512bh first = step_at(w + i * shape.step), second = step_at(w + shape.ld + i * shape.step);
#pragma GCC unroll 4
        for (int m = 0; m < ROWS_OF_X; m++) {
            __m512bh own = step_at(x[m] + i * STEP);
            sums[m][0] = _mm512_dpbf16_ps(sums[m][0], own, first);
            sums[m][1] = _mm512_dpbf16_ps(sums[m][1], own, second);
        }
    }
    for (int64_t m = 0; m < n; m++)
        for (int64_t r = 0; r < ROWS_OF_W; r++)
            out[(row + m) * PANEL + r] = _mm512_reduce_add_ps(sums[m][r]);
}

/* out (1,ROWS_OF_W) = x wᵀ for one row of x. */
static void dots_of_one(float *out, const FewRows *p, const uint16_t *w, Left shape)
{
    const uint16_t *x = p->x.p;
    __m512 first = _mm512_setzero_ps(), second = first;
    for (int64_t i = 0; i < p->steps; i++) {
        __m512bh own = step_at(x + i * STEP);
        first = _mm512_dpbf16_ps(first, own, step_at(w + i * shape.step));
        second = _mm512_dpbf16_ps(second, own, step_at(w + shape.ld + i * shape.step));
    }
    out[0] = _mm512_reduce_add_ps(first);
    out[1] = _mm512_reduce_add_ps(second);
}

static void panel_sums(float *out, const FewRows *p, Left w)
{
    for (int64_t r = 0; r < PANEL; r += ROWS_OF_W) {
        const uint16_t *from = w.p + r / SIDE * w.lower + r % SIDE * w.ld;
        if (p->x.d[0] == 1)
            dots_of_one(out + r, p, from, w);
        else
            for (int64_t row = 0; row < p->x.d[0]; row += ROWS_OF_X)
                dots(out + r, p, from, w, row, min_i64(ROWS_OF_X, p->x.d[0] - row));
    }
}

#endif

/* Panel i of w: in place, or a packed copy if it has fewer rows than a panel. */
static Left panel_at(const FewRows *p, int64_t i)
{
    if ((i + 1) * PANEL <= p->w.rows)
        return (Left){ (const uint16_t *)p->w.p + i * PANEL * p->w.ld, p->w.ld, SIDE * p->w.ld, STEP };
    bf16_pack(p->last, p->w, i * PANEL, 1, LEFT);
    return left_panel(p->last);
}

/* The work of one thread: multiplies its share of the panels of w. */
static void multiply_panels(const FewRows *p)
{
    float out[(MOST_ROWS + PANEL - 1) / PANEL * PANEL * PANEL] __attribute__((aligned(64)));
    Range mine = share(p->panels, 1);
    bf16_enter();
    for (int64_t i = mine.begin; i < mine.end; i++) {
        panel_sums(out, p, panel_at(p, i));
        for (int64_t row = 0; row < p->x.d[0]; row += PANEL)
            bf16_write(&p->to, out + row * PANEL, row, i * PANEL);
    }
    bf16_leave();
}

bool bf16_few_rows(Device *dev, Output to, Tensor bias, Tensor x, Tensor w, int team)
{
    FewRows p = { .to = to,
                  .x = x,
                  .w = { w.p, w.ld, w.d[0], w.d[1], false, false },
                  .panels = panels_of(w.d[0]),
                  .steps = steps_of(w.d[1]) };
    if (x.d[0] > MOST_ROWS || p.w.depth % STEP != 0 || p.w.depth == 0)
        return false;
    int64_t panel = p.steps * PANEL_STEP, panels_of_x = PACKS_X ? panels_of(x.d[0]) : 0;
    int64_t columns = tensor_present(bias) ? p.panels * PANEL : 0;
    float *memory =
        cpu_workspace(dev, (size_t)columns * sizeof *memory + (size_t)((panels_of_x + 1) * panel) * sizeof *p.last);
    if (columns > 0) {
        bf16_widen_bias(dev, memory, bias);
        p.to.bias = memory;
    }
    p.last = (uint16_t *)(memory + columns);
    p.packed_x = p.last + panel;
    bf16_pack(p.packed_x, (Source){ x.p, x.ld, x.d[0], p.w.depth, false, false }, 0, panels_of_x, RIGHT);
#pragma omp parallel num_threads(team)
    multiply_panels(&p);
    return true;
}
