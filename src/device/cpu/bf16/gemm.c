/* gemm.c: a product of matrices, cut into panels. All threads pack a part of the right factor's panels, for all; then
 * each thread multiplies its own share of rows (or of columns where rows are few), a group of left panels at a time,
 * which it packs where they cannot be read in place. */
#include "device/cpu/bf16/panel.h"

#include <omp.h>

enum {
    DEPTH = 512 / STEP,          /* steps of a right panel that stay in the first-level cache: 32 KiB */
    GROUP = 8,                   /* the most left panels that it is multiplied with in turn */
    GROUP_BYTES = 768 << 10,     /* of these panels, so that they stay in the second-level cache */
    RIGHT_BYTES = 32 << 20,      /* of packed right panels */
    LINE = 64 / sizeof(uint16_t) /* numbers of a cache line */
};

typedef struct Product {
    Tensor y;
    Source a, b;
    float alpha, beta;
    int64_t rows, cols, steps; /* panels of y; steps of the whole depth */
    int64_t panel;             /* numbers of a packed panel */
    int64_t group, most;       /* panels: of a at a time, of b at a time */
    uint16_t *left, *right;    /* packed panels: a group for each thread, and those of b for all */
} Product;

typedef struct Range {
    int64_t begin, end;
} Range;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t panels_of(int64_t rows)
{
    return (rows + PANEL - 1) / PANEL;
}

/* Whole panels of contiguous rows, a whole number of steps deep, need no packing. */
static bool in_place(const Product *p, int64_t end)
{
    return !p->a.transposed && p->a.depth % STEP == 0 && end * PANEL <= p->a.rows;
}

/* The left panels of a group, from `step` on. */
static Left left_of(const Product *p, const uint16_t *packed, Range group, int64_t row, int64_t step)
{
    if (!in_place(p, group.end))
        return left_panel(packed + (row - group.begin) * p->panel + step * PANEL_STEP);
    return (Left){ (const uint16_t *)p->a.p + row * PANEL * p->a.ld + step * STEP, p->a.ld, SIDE * p->a.ld, STEP };
}

/* Brings near what is multiplied next, which another thread may have packed. */
static void prefetch(const uint16_t *numbers, int64_t n)
{
    for (int64_t i = 0; i < n; i += LINE)
        __builtin_prefetch(numbers + i, 0, 2);
}

/* A group of left panels times right panel `col` of the packed ones, which is the panel of columns `first + col` of y.
 */
static void multiply_group(const Product *p, const uint16_t *packed, Range group, int64_t first, int64_t col)
{
    float sums[GROUP][PANEL * PANEL] __attribute__((aligned(64)));
    const uint16_t *right = p->right + col * p->panel;
    int64_t step = 0, rows = group.end - group.begin;
    do { /* once where the depth is 0: all sums are 0 */
        int64_t steps = least(p->steps - step, DEPTH), part = steps * PANEL_STEP / rows;
        for (int64_t i = 0; i < rows; i++) {
            prefetch(right + p->panel + step * PANEL_STEP + i * part, part);
            bf16_product(sums[i], left_of(p, packed, group, group.begin + i, step), right + step * PANEL_STEP, steps,
                         step > 0);
        }
        step += DEPTH;
    } while (step < p->steps);
    for (int64_t i = 0; i < rows; i++)
        bf16_write(p->y, sums[i], (group.begin + i) * PANEL, (first + col) * PANEL, p->alpha, p->beta);
}

static Range share_of(int64_t n)
{
    int64_t thread = omp_get_thread_num(), size = omp_get_num_threads();
    return (Range){ n * thread / size, n * (thread + 1) / size };
}

/* What each thread of a team does. */
static void multiply(const Product *p)
{
    bool by_rows = p->rows >= omp_get_num_threads();
    Range rows = by_rows ? share_of(p->rows) : (Range){ 0, p->rows };
    uint16_t *packed = p->left + omp_get_thread_num() * p->group * p->panel;
    bf16_enter();
    for (int64_t first = 0; first < p->cols; first += p->most) {
        int64_t n = least(p->cols - first, p->most);
        Range packs = share_of(n), cols = by_rows ? (Range){ 0, n } : packs;
        bf16_pack(p->right + packs.begin * p->panel, p->b, (first + packs.begin) * PANEL, packs.end - packs.begin,
                  RIGHT);
#pragma omp barrier
        for (int64_t row = rows.begin; row < rows.end; row += p->group) {
            Range group = { row, least(row + p->group, rows.end) };
            if (!in_place(p, group.end))
                bf16_pack(packed, p->a, row * PANEL, group.end - row, LEFT);
            for (int64_t col = cols.begin; col < cols.end; col++)
                multiply_group(p, packed, group, first, col);
        }
#pragma omp barrier
    }
    bf16_leave();
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

enum { FEW = 1 << 18 }; /* multiplications that are not worth a second thread */

void bf16_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    int64_t depth = a.d[ta ? 0 : 1], steps = steps_of(depth), panel = steps * PANEL_STEP;
    int64_t panel_bytes = panel * (int64_t)sizeof(uint16_t) + 1;
    int team = (double)y.d[0] * (double)y.d[1] * (double)depth < FEW ? 1 : dev->threads;
    if (!ta && tb && bf16_few_rows(dev, y, a, b, team, alpha, beta))
        return;
    Product p = { .y = y,
                  .a = { a.p, a.ld, y.d[0], depth, ta, false },
                  .b = { b.p, b.ld, y.d[1], depth, !tb, false },
                  .alpha = alpha,
                  .beta = beta,
                  .rows = panels_of(y.d[0]),
                  .cols = panels_of(y.d[1]),
                  .steps = steps,
                  .panel = panel,
                  .group = clamp(GROUP_BYTES / panel_bytes, 1, GROUP),
                  .most = clamp(RIGHT_BYTES / panel_bytes, 1, panels_of(y.d[1])) };
    p.left = cpu_workspace(dev, (size_t)((team * p.group + p.most) * panel) * sizeof *p.left);
    p.right = p.left + team * p.group * panel;
#pragma omp parallel num_threads(team)
    multiply(&p);
}

const Bf16Products bf16_products = { bf16_gemm, bf16_tile };
