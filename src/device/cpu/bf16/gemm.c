/* gemm.c: a product of matrices, cut into panels. All threads pack a part of the right factor's panels, which then stay
 * in the second-level cache; each thread multiplies its own share of rows (or of columns where rows are few). */
#include "device/cpu/bf16/panel.h"

#include <omp.h>

enum {
    DEPTH = 512 / STEP,      /* steps of a right panel that stay in the first-level cache: 32 KiB */
    GROUP = 8,               /* the most panels of rows that it is multiplied with in turn */
    GROUP_BYTES = 768 << 10, /* of these panels, so that they stay in the second-level cache */
    RIGHT_BYTES = 4 << 20,   /* of packed right panels */
    MOST_RIGHT_PANELS = 512 / PANEL,
    LINE = 64 / sizeof(uint16_t) /* numbers of a cache line */
};

typedef struct Product {
    Tensor y;
    Source a, b;
    float alpha, beta;
    int64_t steps, panel;   /* of the whole depth; numbers of a whole panel */
    uint16_t *left, *right; /* packed panels: all of a, or those that cannot be read in place; some of b */
    int64_t rows, cols;     /* panels of y */
    int64_t most, group;    /* panels of b packed at a time, of a multiplied in turn */
} Product;

static int64_t panels_of(int64_t rows)
{
    return (rows + PANEL - 1) / PANEL;
}

/* Whole panels of contiguous rows, a whole number of steps deep, need no packing. */
static bool in_place(const Product *p, int64_t panel)
{
    return !p->a.transposed && p->a.depth % STEP == 0 && (panel + 1) * PANEL <= p->a.rows;
}

static Left left_of(const Product *p, int64_t panel, int64_t step)
{
    if (!in_place(p, panel))
        return left_panel(p->left + panel * p->panel + step * PANEL_STEP);
    return (Left){ (const uint16_t *)p->a.p + panel * PANEL * p->a.ld + step * STEP, p->a.ld, SIDE * p->a.ld, STEP };
}

/* A thread's part of the right panel that comes next is brought near while the current one is multiplied: another
 * thread may have packed it. */
static void prefetch(const uint16_t *numbers, int64_t n)
{
    for (int64_t i = 0; i < n; i += LINE)
        __builtin_prefetch(numbers + i, 0, 2);
}

/* Panels of rows [begin, end), at most GROUP, times right panel `col` of the packed ones, which is the panel of columns
 * `first + col` of y. */
static void multiply_group(const Product *p, int64_t begin, int64_t end, int64_t first, int64_t col)
{
    float sums[GROUP][PANEL * PANEL] __attribute__((aligned(64)));
    const uint16_t *right = p->right + col * p->panel;
    int64_t step = 0, rows = end - begin;
    do { /* once where the depth is 0: all sums are 0 */
        int64_t steps = p->steps - step < DEPTH ? p->steps - step : DEPTH, part = steps * PANEL_STEP / rows;
        for (int64_t row = 0; row < rows; row++) {
            prefetch(right + p->panel + step * PANEL_STEP + row * part, part);
            bf16_product(sums[row], left_of(p, begin + row, step), right + step * PANEL_STEP, steps, step > 0);
        }
        step += DEPTH;
    } while (step < p->steps);
    for (int64_t row = 0; row < rows; row++)
        bf16_write(p->y, sums[row], (begin + row) * PANEL, (first + col) * PANEL, p->alpha, p->beta);
}

typedef struct Range {
    int64_t begin, end;
} Range;

static Range share_of(int64_t n)
{
    int64_t thread = omp_get_thread_num(), size = omp_get_num_threads();
    return (Range){ n * thread / size, n * (thread + 1) / size };
}

/* What each thread of a team does. */
static void multiply(const Product *p)
{
    bool by_rows = p->rows >= omp_get_num_threads();
    Range mine = share_of(p->rows);
    bf16_enter();
    for (int64_t row = mine.begin; row < mine.end; row++)
        if (!in_place(p, row))
            bf16_pack(p->left + row * p->panel, p->a, row * PANEL, LEFT);
    for (int64_t first = 0; first < p->cols; first += p->most) {
        int64_t n = p->cols - first < p->most ? p->cols - first : p->most;
        Range packs = share_of(n), rows = by_rows ? mine : (Range){ 0, p->rows },
              cols = by_rows ? (Range){ 0, n } : packs;
        for (int64_t col = packs.begin; col < packs.end; col++)
            bf16_pack(p->right + col * p->panel, p->b, (first + col) * PANEL, RIGHT);
#pragma omp barrier
        for (int64_t row = rows.begin; row < rows.end; row += p->group)
            for (int64_t col = cols.begin; col < cols.end; col++)
                multiply_group(p, row, row + p->group < rows.end ? row + p->group : rows.end, first, col);
#pragma omp barrier
    }
    bf16_leave();
}

enum { FEW = 1 << 18 }; /* multiplications that are not worth a second thread */

void bf16_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    int64_t depth = a.d[ta ? 0 : 1];
    Product p = { .y = y,
                  .a = { a.p, a.ld, y.d[0], depth, ta, false },
                  .b = { b.p, b.ld, y.d[1], depth, !tb, false },
                  .alpha = alpha,
                  .beta = beta,
                  .steps = steps_of(depth),
                  .panel = steps_of(depth) * PANEL_STEP,
                  .rows = panels_of(y.d[0]),
                  .cols = panels_of(y.d[1]) };
    p.most = RIGHT_BYTES / (p.panel * (int64_t)sizeof *p.right + 1) + 1;
    p.most = p.most > MOST_RIGHT_PANELS ? MOST_RIGHT_PANELS : p.most;
    p.group = GROUP_BYTES / (p.panel * (int64_t)sizeof *p.left + 1);
    p.group = p.group > GROUP ? GROUP : p.group < 2 ? 2 : p.group;
    bool all_in_place = p.rows > 0 && in_place(&p, p.rows - 1);
    size_t left_bytes = all_in_place ? 0 : (size_t)(p.rows * p.panel) * sizeof *p.left;
    p.left = cpu_workspace(dev, left_bytes + (size_t)(p.most * p.panel) * sizeof *p.right);
    p.right = p.left + left_bytes / sizeof *p.left;
    int team = (double)y.d[0] * (double)y.d[1] * (double)depth < FEW ? 1 : dev->threads;
#pragma omp parallel num_threads(team)
    multiply(&p);
}

const Bf16Products bf16_products = { bf16_gemm, bf16_tile };
