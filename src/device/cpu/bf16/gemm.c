/* gemm.c: computes a matrix product in panels of rows and columns and in blocks of its depth (the dimension that is
 * summed over). For each block of the depth, all threads together pack the panels of one factor, which they share; then
 * each thread packs its own panels of the other factor and multiplies them. The shared factor is the right one, unless
 * the left one is so small that it stays in the second-level cache. */
#include "device/cpu/bf16/ahead.h"
#include "device/cpu/pool.h"

enum {
    STEP_BYTES = PANEL_STEP * (int)sizeof(uint16_t), /* bytes of one step of a panel */
    TILE = PANEL * PANEL,                            /* number of sums of the product of a left and a right panel */
    CHUNK = 20,           /* largest number of steps of a right panel that stay in the L1 cache (40 KiB) */
    BLOCK_STEPS = 64,     /* largest number of steps of a block of the depth */
    NEAR_STEPS = 32,      /* the same if the depth is cut anyway, and if all right panels then have at most */
    NEAR_BYTES = 1 << 20, /* this many bytes, so that they stay in the L2 cache */
    FEW_PANELS = 16,      /* with this many panels of rows or fewer, a thread multiplies them as one group */
    GROUP = 20,           /* largest number of left panels in a group, with which a right panel is multiplied in turn */
    GROUP_BYTES = 1 << 20,    /* largest number of bytes of a group's panels, so that they stay in the L2 cache */
    BESIDE_BYTES = 640 << 10, /* the same if all right panels shall stay there too */
    RIGHT_BYTES = 32 << 20,   /* largest number of bytes of packed right panels */
    SUMS_BYTES = 16 << 20,    /* largest number of bytes of sums that are kept until the next block of the depth */
    PAST_BYTES = 256 << 10    /* a y of at least this many bytes is written with non-temporal stores */
};

typedef struct Product {
    Source a, b;
    Output to;
    int64_t rows, cols, steps; /* panels of y; steps of the whole depth */
    int64_t block, chunk;      /* steps of a block of the depth, and of a chunk of a right panel */
    /* Panels of a that are multiplied at a time; panels of a and of b for which there is memory. */
    int64_t group, most_rows, most_cols;
    bool by_cols;           /* the left factor is the shared one */
    uint16_t *left, *right; /* packed panels */
    float *sums;            /* (most_rows, most_cols, TILE) sums; NULL means that the depth is one block */
    Pool *pool;             /* groups of rows, or columns, that threads take */
} Product;

/* The part of a product for which panels are packed: panels of y, and steps [begin, end) of the depth. */
typedef struct Part {
    Range rows, cols, steps;
} Part;

/* The size of the parts if n is divided into the fewest, about equal, parts of at most `most`. */
static int64_t equal_part(int64_t n, int64_t most)
{
    int64_t parts = (n + most - 1) / most;
    return parts > 0 ? (n + parts - 1) / parts : 1;
}

/* Steps [begin, end) of the depth of s. */
static Source block_of(Source s, Range steps)
{
    int64_t first = steps.begin * STEP;
    s.p =
        (const char *)s.p + (size_t)(s.transposed ? first * s.ld : first) * (s.f32 ? sizeof(float) : sizeof(uint16_t));
    s.depth = min_i64(s.depth - first, (steps.end - steps.begin) * STEP);
    return s;
}

/* Number of elements of a packed panel. */
static int64_t panel_size(const Part *part)
{
    return (part->steps.end - part->steps.begin) * PANEL_STEP;
}

/* Prefetches the sums of a tile into the L1 cache. */
static void sums_soon(const float *sums)
{
    for (int64_t i = 0; i < TILE; i += CACHE_LINE / (int)sizeof *sums)
        __builtin_prefetch(sums + i, 1, 3);
}

/* Multiplies the left panels of a group by the right panel `right`, which belongs to columns `col` of y. `left` and
 * `right` point to the first step of the block of the depth. */
static void multiply_group(const Product *p, const Part *part, const uint16_t *left, Range group, const uint16_t *right,
                           int64_t col, Ahead *ahead)
{
    float local[GROUP][TILE] __attribute__((aligned(64)));
    int64_t steps = part->steps.end - part->steps.begin, step = 0, panel = panel_size(part);
    bool whole = part->steps.end == p->steps;
    do { /* runs once even if the depth is 0: then all sums are 0 */
        int64_t n = min_i64(steps - step, p->chunk);
        bool write = whole && step + n == steps;
        for (int64_t row = group.begin; row < group.end; row++) {
            float *sums = local[steps > p->chunk ? row - group.begin : 0];
            if (p->sums)
                sums = p->sums + ((row - part->rows.begin) * p->most_cols + col - part->cols.begin) * TILE;
            fetch(ahead);
            if (p->sums && part->steps.begin + step > 0)
                sums_soon(sums + (row + 1 < group.end ? p->most_cols : 1) * TILE);
            if (write && p->to.beta != 0)
                bf16_write_soon(p->to.y, row * PANEL, col * PANEL);
            bf16_product(sums, left_panel(left + (row - group.begin) * panel + step * PANEL_STEP),
                         right + step * PANEL_STEP, n, part->steps.begin + step > 0);
            if (write)
                bf16_write(&p->to, sums, row * PANEL, col * PANEL);
        }
        step += n;
    } while (step < steps);
}

static Range gemm_share(Range range)
{
    Range part = share(range.end - range.begin, 1);
    return (Range){ range.begin + part.begin, range.begin + part.end };
}

/* Number of groups that n panels of rows are divided into: the same number for each thread, and more than one if there
 * are enough panels, so that a thread that has finished can take over a group. */
static int64_t groups_of(const Product *p, int64_t n)
{
    int64_t threads = omp_get_num_threads(), own = (n + threads - 1) / threads;
    return threads * max_i64((own + p->group - 1) / p->group, own >= FEW_PANELS ? 2 : 1);
}

/* All threads together pack the right panels; then each thread multiplies groups of rows. */
static void multiply_rows(const Product *p, const Part *part)
{
    Source a = block_of(p->a, part->steps), b = block_of(p->b, part->steps);
    Range packs = gemm_share(part->cols);
    int64_t rows = part->rows.end - part->rows.begin, cols = part->cols.end - part->cols.begin;
    int64_t panel = panel_size(part), groups = groups_of(p, rows);
    uint16_t *packed = p->left + omp_get_thread_num() * p->group * panel;
    pool_fill(p->pool, groups);
    bf16_pack(p->right + (packs.begin - part->cols.begin) * panel, b, packs.begin * PANEL, packs.end - packs.begin,
              RIGHT);
#pragma omp barrier
    for (int64_t i = pool_take(p->pool); i >= 0; i = pool_take(p->pool)) {
        Range group = { part->rows.begin + rows * i / groups, part->rows.begin + rows * (i + 1) / groups };
        int64_t n = group.end - group.begin;
        Ahead ahead = ahead_of(a, group.end * PANEL, n, cols * n);
        bf16_pack(packed, a, group.begin * PANEL, n, LEFT);
        for (int64_t col = 0; col < cols; col++)
            multiply_group(p, part, packed, group, p->right + col * panel, part->cols.begin + col, &ahead);
    }
#pragma omp barrier
}

/* All threads together pack the left panels; then each packs and multiplies its own columns, one panel at a time. */
static void multiply_cols(const Product *p, const Part *part)
{
    Range packs = gemm_share(part->rows);
    int64_t panel = panel_size(part);
    uint16_t *packed = p->right + omp_get_thread_num() * panel;
    pool_fill(p->pool, part->cols.end);
    bf16_pack(p->left + packs.begin * panel, p->a, packs.begin * PANEL, packs.end - packs.begin, LEFT);
#pragma omp barrier
    for (int64_t col = pool_take(p->pool); col >= 0; col = pool_take(p->pool)) {
        Ahead ahead = ahead_of(p->b, (col + 1) * PANEL, 1, part->rows.end);
        bf16_pack(packed, p->b, col * PANEL, 1, RIGHT);
        multiply_group(p, part, p->left, part->rows, packed, col, &ahead);
    }
}

/* The work of one thread. */
static void multiply_blocks(const Product *p)
{
    bf16_enter();
    for (int64_t row = 0; row < p->rows; row += p->most_rows)
        for (int64_t col = 0; col < p->cols; col += p->most_cols) {
            Part part = { .rows = { row, min_i64(row + p->most_rows, p->rows) },
                          .cols = { col, min_i64(col + p->most_cols, p->cols) } };
            do { /* once where the depth is 0 */
                part.steps = (Range){ part.steps.end, min_i64(part.steps.end + p->block, p->steps) };
                if (p->by_cols)
                    multiply_cols(p, &part);
                else
                    multiply_rows(p, &part);
            } while (part.steps.end < p->steps);
        }
    bf16_leave();
}

enum { FEW = 1 << 18 }; /* with fewer multiplications only one thread is used */

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Decides how many panels and steps are processed at a time, and allocates memory for them. */
static void plan_gemm(Product *p, Device *dev, int team, Tensor bias)
{
    bool near = p->steps > BLOCK_STEPS && p->cols * NEAR_STEPS * STEP_BYTES <= NEAR_BYTES;
    p->block = equal_part(p->steps, near ? NEAR_STEPS : BLOCK_STEPS);
    p->chunk = equal_part(p->block, CHUNK);
    int64_t panel = p->block * PANEL_STEP, panel_bytes = panel * (int64_t)sizeof(uint16_t), left, right, sums = 0;
    p->by_cols = p->rows <= GROUP && p->rows < p->cols && p->rows * panel_bytes <= GROUP_BYTES && p->block >= p->steps;
    p->group = clamp((near ? BESIDE_BYTES : GROUP_BYTES) / panel_bytes, 1, GROUP);
    p->most_rows = p->rows;
    p->most_cols = p->by_cols ? p->cols : clamp(RIGHT_BYTES / panel_bytes, 1, p->cols);
    if (p->block < p->steps) {
        p->most_rows = clamp(SUMS_BYTES / (p->most_cols * TILE * (int64_t)sizeof(float)), 1, p->rows);
        sums = p->most_rows * p->most_cols * TILE;
    }
    left = (p->by_cols ? p->rows : team * p->group) * panel;
    right = (p->by_cols ? team : p->most_cols) * panel;
    int64_t columns = tensor_present(bias) ? p->cols * PANEL : 0;
    float *memory =
        cpu_workspace(dev, (size_t)(sums + columns) * sizeof(float) + (size_t)(left + right) * sizeof *p->left);
    p->sums = sums ? memory : NULL;
    p->left = (uint16_t *)(memory + sums + columns);
    p->right = p->left + left;
    if (columns == 0)
        return;
    bf16_widen_bias(dev, memory + sums, bias);
    p->to.bias = memory + sums;
}

void bf16_gemm(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, float alpha, float beta)
{
    int64_t depth = a.d[ta ? 0 : 1];
    int team = (double)y.d[0] * (double)y.d[1] * (double)depth < FEW ? 1 : dev->threads;
    Output to = { .y = y, .alpha = alpha, .beta = beta };
    if (!ta && tb && bf16_few_rows(dev, to, bias, a, b, team))
        return;
    to.past = (size_t)(y.d[0] * y.d[1]) * dtype_bytes(y.dtype) >= PAST_BYTES;
    Product p = { .a = { a.p, a.ld, y.d[0], depth, ta, false },
                  .b = { b.p, b.ld, y.d[1], depth, !tb, false },
                  .to = to,
                  .rows = panels_of(y.d[0]),
                  .cols = panels_of(y.d[1]),
                  .steps = steps_of(depth) };
    Pool pool;
    p.pool = &pool;
    plan_gemm(&p, dev, team, bias);
#pragma omp parallel num_threads(team)
    multiply_blocks(&p);
}

const Bf16Products bf16_products = { .gemm = bf16_gemm,
                                     .tile = bf16_tile,
                                     .attention_fwd_bytes = bf16_attention_fwd_bytes,
                                     .attention_bwd_bytes = bf16_attention_bwd_bytes,
                                     .attention_fwd = bf16_attention_fwd,
                                     .attention_bwd = bf16_attention_bwd };
