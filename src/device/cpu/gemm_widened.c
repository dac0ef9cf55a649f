/* gemm_widened.c: matrix products of dtypes for which the processor has no instructions (f16; bf16 without AVX-512-BF16
 * or AMX): operands are converted to f32 and multiplied by oneDNN. y is divided into blocks of columns, and the
 * dimension that is summed over (the depth) into blocks as well. All threads together convert a block of the right
 * operand; then each thread converts its own rows of the left operand, a group at a time, and multiplies them (or, if
 * there are few rows, all rows by its own columns). */
#include "base/check.h"
#include "base/fatal.h"
#include "device/cpu/cpu.h"
#include "device/cpu/pool.h"

#include <dnnl.h>
#include <string.h>

void cpu_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *y, int64_t ldy)
{
    dnnl_status_t status = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, y, ldy);
    if (status == dnnl_out_of_memory)
        fatal_memory("a matrix product");
    CHECK(status == dnnl_success, "dnnl_sgemm of %lld x %lld x %lld: status %d", (long long)m, (long long)n,
          (long long)k, (int)status);
}

enum {
    COLS = 1024,  /* columns of y in a block */
    DEPTH = 4096, /* depth of a block; the products of usual layers are not deeper, so that one block is enough */
    GROUP_NUMBERS =
        1 << 18, /* numbers of the left operand that a thread converts at a time: 1 MiB, about the second-level cache */
    MOST_GROUP = 128, /* rows of a group */
    UNIT = 16,        /* shares and groups are multiples of this */
    FEW_ROWS = 64,    /* with fewer rows per thread, threads share columns instead of rows */
    FEW = 1 << 18     /* with fewer multiplications only one thread is used */
};

typedef struct Product {
    Device *dev;
    Tensor y, a, b;
    const float *bias; /* NULL means no bias */
    bool ta, tb;
    float alpha, beta;
    int64_t rows, cols, depth; /* dimensions of the whole product */
    int64_t group;             /* rows of a group */
    bool in_place;             /* sums are accumulated in y, which is f32 */
    bool one_block;            /* the depth is one block: a thread's sums are written to y at once and not kept */
    float *right;              /* a block of the right operand */
    Pool *pool;                /* groups of rows */
    float *left, *sums;        /* one group per thread; sums: the same, or sums of all rows unless one_block */
} Product;

/* A block of the right operand: columns of y, and a range of the depth. */
typedef struct Block {
    Range cols, depth;
} Block;

static int64_t length(Range range)
{
    return range.end - range.begin;
}

/* The calling thread's share of a range. */
static Range widened_share(Range range)
{
    Range mine = share(length(range), UNIT);
    return (Range){ range.begin + mine.begin, range.begin + mine.end };
}

/* Rows and columns of t. */
static Tensor gemm_part(Tensor t, Range rows, Range cols)
{
    return tensor_slice_cols(tensor_slice_rows(t, rows.begin, length(rows)), cols.begin, length(cols));
}

/* Converts a part of an operand to contiguous f32. */
static void widen_part(const Product *p, float *to, Tensor part)
{
    if (part.d[0] > 0 && part.d[1] > 0)
        p->dev->ops->copy(p->dev, tensor_matrix(to, DT_F32, part.d[0], part.d[1]), part);
}

static void widen_right(const Product *p, Block block)
{
    Range stored = p->tb ? block.cols : block.depth, across = p->tb ? block.depth : block.cols;
    Range mine = widened_share(stored);
    widen_part(p, p->right + (mine.begin - stored.begin) * length(across), gemm_part(p->b, mine, across));
}

/* y = sums + beta · y + bias for a part of y, whose first column is column `col` of the bias. If the sums are
 * accumulated in y itself, beta · y is already included. */
static void write_sums(const Product *p, Tensor y, float *sums, int64_t ld, int64_t col)
{
    Tensor from = tensor_matrix(sums, DT_F32, y.d[0], y.d[1]);
    float old[COLS];
    from.ld = ld;
    for (int64_t row = 0; row < y.d[0]; row++, sums += ld) {
        if (p->beta != 0 && !p->in_place) {
            widen_part(p, old, tensor_slice_rows(y, row, 1));
            for (int64_t i = 0; i < y.d[1]; i++)
                sums[i] += p->beta * old[i];
        }
        for (int64_t i = 0; p->bias && i < y.d[1]; i++)
            sums[i] += p->bias[col + i];
    }
    if (!p->in_place)
        p->dev->ops->copy(p->dev, y, from);
}

/* Multiplies a group of rows, already converted in `left`, by columns of the block. */
static void multiply_group(const Product *p, const float *left, Block block, Range rows, Range cols)
{
    int64_t depth = length(block.depth), skipped = cols.begin - block.cols.begin,
            ldb = p->tb ? depth : length(block.cols);
    const float *right = p->right + skipped * (p->tb ? ldb : 1);
    Tensor y = gemm_part(p->y, rows, cols);
    float *sums = p->sums + skipped, beta = block.depth.begin > 0 ? 1 : p->in_place ? p->beta : 0;
    int64_t ld = COLS;
    if (p->in_place) {
        sums = y.p;
        ld = y.ld;
    } else {
        sums += (p->one_block ? omp_get_thread_num() * p->group : rows.begin) * COLS;
    }
    if (depth > 0)
        cpu_sgemm(p->ta, p->tb, length(rows), length(cols), depth, p->alpha, left, p->ta ? length(rows) : depth, right,
                  ldb, beta, sums, ld);
    else
        for (int64_t row = 0; row < length(rows); row++)
            memset(sums + row * ld, 0, (size_t)length(cols) * sizeof *sums);
    if (block.depth.end == p->depth)
        write_sums(p, y, sums, ld, cols.begin);
}

/* Converts a group of rows of the left operand to f32, and multiplies it with columns of the block. */
static void widen_and_multiply(const Product *p, Block block, Range rows, Range cols)
{
    float *left = p->left + omp_get_thread_num() * p->group * min_i64(p->depth, DEPTH);
    widen_part(p, left, p->ta ? gemm_part(p->a, block.depth, rows) : gemm_part(p->a, rows, block.depth));
    multiply_group(p, left, block, rows, cols);
}

/* The work of a thread with a block: multiplies groups of rows or, if rows are few, all by its own columns. */
static void multiply_block(const Product *p, Block block)
{
    int64_t groups = (p->rows + p->group - 1) / p->group;
    bool by_rows = p->rows >= (int64_t)FEW_ROWS * omp_get_num_threads();
    Range cols = widened_share(block.cols);
    if (by_rows)
        pool_fill(p->pool, groups);
    widen_right(p, block);
#pragma omp barrier
    if (by_rows)
        for (int64_t i = pool_take(p->pool); i >= 0; i = pool_take(p->pool))
            widen_and_multiply(p, block, (Range){ i * p->group, min_i64((i + 1) * p->group, p->rows) }, block.cols);
    else
        for (int64_t i = 0; i < groups && length(cols) > 0; i++)
            widen_and_multiply(p, block, (Range){ i * p->group, min_i64((i + 1) * p->group, p->rows) }, cols);
#pragma omp barrier
}

static void multiply_widened(const Product *p)
{
    for (int64_t col = 0; col < p->cols; col += COLS) {
        Block block = { .cols = { col, min_i64(col + COLS, p->cols) } };
        do { /* runs once if the depth is 0 */
            block.depth.end = min_i64(block.depth.begin + DEPTH, p->depth);
            multiply_block(p, block);
            block.depth.begin = block.depth.end;
        } while (block.depth.begin < p->depth);
    }
}

/* The most rows of a group. */
static int64_t most_rows(int64_t depth)
{
    return min_i64(GROUP_NUMBERS / (depth > 0 ? min_i64(depth, DEPTH) : 1) / UNIT * UNIT, MOST_GROUP);
}

/* Number of rows of a group, such that groups are about equal and each thread has the same number of groups. */
static int64_t group_rows(int64_t rows, int64_t most, int team)
{
    int64_t groups = team * max_i64((rows + team * most - 1) / (team * most), 1);
    return min_i64(most, ((rows + groups - 1) / groups + UNIT - 1) / UNIT * UNIT);
}

void cpu_gemm_widened(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, float alpha, float beta)
{
    int64_t depth = a.d[ta ? 0 : 1], deep = min_i64(depth, DEPTH), most = most_rows(depth);
    int team = (double)y.d[0] * (double)y.d[1] * (double)depth < FEW ? 1 : dev->threads;
    Product p = { .dev = dev,
                  .y = y,
                  .a = a,
                  .b = b,
                  .ta = ta,
                  .tb = tb,
                  .alpha = alpha,
                  .beta = beta,
                  .rows = y.d[0],
                  .cols = y.d[1],
                  .depth = depth,
                  .group = group_rows(y.d[0], most, team),
                  .in_place = y.dtype == DT_F32 && depth > 0,
                  .one_block = depth <= DEPTH };
    int64_t n_right = deep * COLS, n_left = team * most * deep, n_sums = p.one_block ? team * most : p.rows;
    int64_t n_bias = tensor_present(bias) ? p.cols : 0;
    n_sums = p.in_place ? 0 : n_sums * COLS;
    Pool pool;
    p.pool = &pool;
    p.right = cpu_workspace(dev, (size_t)(n_right + n_left + n_sums + n_bias) * sizeof(float) + 1);
    p.left = p.right + n_right;
    p.sums = p.left + n_left;
    if (n_bias > 0) {
        dev->ops->copy(dev, tensor_vector(p.sums + n_sums, DT_F32, n_bias), bias);
        p.bias = p.sums + n_sums;
    }
    if (team == 1) { /* oneDNN takes all threads, within a parallel region of one thread even new ones each time */
        omp_set_num_threads(1);
        multiply_widened(&p);
        omp_set_num_threads(dev->threads);
        return;
    }
#pragma omp parallel num_threads(team)
    multiply_widened(&p);
}
