#include "data/row_plan.h"

#include "base/check.h"
#include "base/philox.h"

#include <glib.h>
#include <inttypes.h>
#include <math.h>

/* Blocks that are kept; several, because ranks that share a plan read different packed sequences of a batch. */
#define CACHED_BLOCKS 8
#define DEVIATIONS    5 /* safety margin of rows per block, in standard deviations of the number of rows */
/* Smallest standard deviation of the number of rows, as a multiple of its square root; applies if all samples have the
 * same length. */
#define LEAST_DEVIATION 0.2
/* `layer` of the random keys for the order of rows within a block; layer 0 is for the order of blocks, or of all rows
 * of a whole plan. */
#define ORDER_OF_ROWS    1
#define BLOCK_OF_SAMPLES 2

/* A cached block of packed sequences, planned together. */
typedef struct Block {
    int64_t number;    /* number of the block; -1 means an empty entry of the cache */
    PackPlan *plan;    /* the plan of the block, with sample numbers of the dataset */
    uint64_t last_use; /* value of RowPlan.uses when one of its rows was last requested */
} Block;

struct RowPlan {
    RowPlanSpec spec;
    PhiloxKey order, rows_order, dealing;
    int64_t n_rows, max_samples;
    double fill;
    PackPlan *whole; /* the plan of all rows; NULL means that rows are groups, or are planned in blocks */
    uint32_t *group; /* (n_group) the samples of the row that row_plan_get returned last, if rows are groups */
    /* Blocks: */
    int64_t n_blocks, block_rows; /* block_rows 0 means not known yet */
    Block blocks[CACHED_BLOCKS];
    PackPlan *rest; /* plan of the samples after all blocks, numbered from 0; they form the last rows of an epoch */
    uint64_t uses;
};

/* ---- the samples of a block ---- */

/* Samples 2i and 2i + 1, whose lengths may complement each other, are in the same block. Of n_blocks consecutive pairs
 * each block gets one, so every block is a fair sample of the dataset, in whatever order that is. All blocks have
 * equally many samples; those that are left at the end of the dataset are packed on their own. */
static int64_t block_samples(const RowPlan *plan)
{
    return plan->spec.n_samples / 2 / plan->n_blocks * 2;
}

static uint32_t *deal(const RowPlan *plan, int64_t block)
{
    const int64_t n = block_samples(plan);
    uint32_t *samples = g_new(uint32_t, n);
    for (int64_t i = 0; i < n; i += 2) {
        uint64_t within = philox_permute(plan->dealing, (uint64_t)i / 2, (uint64_t)block, (uint64_t)plan->n_blocks);
        samples[i] = (uint32_t)(i * plan->n_blocks + 2 * (int64_t)within);
        samples[i + 1] = samples[i] + 1;
    }
    return samples;
}

/* The lengths of a block's samples, and the sums of the lengths and of their squares, in units of a row's capacity. */
typedef struct BlockLengths {
    const RowPlanSpec *spec;
    const uint32_t *samples;
    double *sum, *squares;
} BlockLengths;

static PackLength length_in_block(const void *context, int64_t i)
{
    const BlockLengths *lengths = context;
    const RowPlanSpec *spec = lengths->spec;
    PackLength length = spec->length(spec->context, lengths->samples[i]);
    double share = (double)(length.enc + length.dec) / (double)(spec->capacity.enc + spec->capacity.dec);
    *lengths->sum += share;
    *lengths->squares += share * share;
    return length;
}

/* Splits rows that hold several samples until there are n_rows rows. There must be at least n_rows samples. */
static void divide_rows(PackPlan *plan, int64_t n_rows)
{
    while (plan->n_rows < n_rows) {
        int64_t *starts = g_new(int64_t, n_rows + 1), rows = 0, missing = n_rows - plan->n_rows;
        for (int64_t row = 0; row < plan->n_rows; row++) {
            int64_t first = plan->starts[row], n = plan->starts[row + 1] - first;
            starts[rows++] = first;
            if (n > 1 && missing > 0) {
                starts[rows++] = first + n / 2;
                missing--;
            }
        }
        starts[rows] = plan->starts[plan->n_rows];
        g_free(plan->starts);
        plan->starts = starts;
        plan->n_rows = rows;
    }
}

/* The number of rows of each block: that of this block and a margin, because blocks differ in the sum of their lengths
 * and in how well these fit together. */
static int64_t rows_with_margin(const PackPlan *block, double sum, double squares)
{
    double n = (double)block->n_samples, mean = sum / n, rows = (double)block->n_rows;
    double deviation = sqrt(MAX(n * (squares / n - mean * mean), LEAST_DEVIATION * LEAST_DEVIATION * rows));
    return MIN(block->n_rows + (int64_t)ceil(DEVIATIONS * deviation), block->n_samples);
}

static PackPlan *pack_block(RowPlan *plan, int64_t number)
{
    const int64_t n = block_samples(plan);
    double sum = 0, squares = 0;
    g_autofree uint32_t *samples = deal(plan, number);
    const BlockLengths lengths = { &plan->spec, samples, &sum, &squares };
    PackPlan *block = pack_plan(n, plan->spec.capacity, length_in_block, &lengths, plan->max_samples);
    for (int64_t i = 0; i < n; i++)
        block->samples[i] = samples[block->samples[i]];
    if (plan->block_rows == 0)
        plan->block_rows = rows_with_margin(block, sum, squares);
    divide_rows(block, plan->block_rows);
    return block;
}

static const PackPlan *find_block(RowPlan *plan, int64_t number)
{
    Block *oldest = &plan->blocks[0];
    plan->uses++;
    for (int i = 0; i < CACHED_BLOCKS; i++) {
        Block *block = &plan->blocks[i];
        if (block->plan && block->number == number) {
            block->last_use = plan->uses;
            return block->plan;
        }
        if (block->last_use < oldest->last_use)
            oldest = block;
    }
    pack_free(oldest->plan);
    *oldest = (Block){ number, pack_block(plan, number), plan->uses };
    return oldest->plan;
}

static int64_t block_at(const RowPlan *plan, uint64_t epoch, int64_t i)
{
    return (int64_t)philox_permute(plan->order, epoch, (uint64_t)i, (uint64_t)plan->n_blocks);
}

/* ---- opening ---- */

static double fill_of(PackLength used, PackLength all)
{
    return (double)(used.enc + used.dec) / (double)(all.enc + all.dec);
}

static PackLength multiple(PackLength length, int64_t n)
{
    return (PackLength){ length.enc * n, length.dec * n };
}

static void open_groups(RowPlan *plan)
{
    const RowPlanSpec *spec = &plan->spec;
    PackLength used = { 0 };
    const int64_t n =
        spec->n_samples > ROW_PLAN_WHOLE ? ROW_PLAN_WHOLE / spec->n_group * spec->n_group : spec->n_samples;
    for (int64_t i = 0; i < n; i++) {
        PackLength length = spec->length(spec->context, i);
        used.enc += length.enc;
        used.dec += length.dec;
    }
    plan->n_rows = (spec->n_samples + spec->n_group - 1) / spec->n_group;
    plan->max_samples = MIN(spec->n_group, spec->n_samples);
    plan->group = g_new(uint32_t, spec->n_group);
    plan->fill = fill_of(used, multiple(spec->capacity, (n + spec->n_group - 1) / spec->n_group));
}

static PackLength length_in_rest(const void *context, int64_t i)
{
    const RowPlan *plan = context;
    return plan->spec.length(plan->spec.context, plan->n_blocks * block_samples(plan) + i);
}

/* Plans the first block of the first epoch to find the number of rows that all blocks get. */
static void open_blocks(RowPlan *plan)
{
    plan->n_blocks = (plan->spec.n_samples + ROW_PLAN_BLOCK - 1) / ROW_PLAN_BLOCK;
    const int64_t dealt = plan->n_blocks * block_samples(plan);
    const PackPlan *first = find_block(plan, block_at(plan, 0, 0));
    plan->max_samples = first->max_samples;
    plan->rest = pack_plan(plan->spec.n_samples - dealt, plan->spec.capacity, length_in_rest, plan, plan->max_samples);
    for (int64_t i = 0; i < plan->rest->n_samples; i++)
        plan->rest->samples[i] += (uint32_t)dealt;
    plan->n_rows = plan->n_blocks * plan->block_rows + plan->rest->n_rows;
    plan->fill = fill_of(first->used, multiple(plan->spec.capacity, plan->block_rows));
}

static void open_whole(RowPlan *plan)
{
    const RowPlanSpec *spec = &plan->spec;
    plan->whole = pack_plan(spec->n_samples, spec->capacity, spec->length, spec->context, 0);
    plan->n_rows = plan->whole->n_rows;
    plan->max_samples = plan->whole->max_samples;
    plan->fill = fill_of(plan->whole->used, plan->whole->all);
}

RowPlan *row_plan_open(const RowPlanSpec *spec)
{
    RowPlan *plan = g_new0(RowPlan, 1);
    plan->spec = *spec;
    plan->order = philox_key(spec->seed, PHILOX_SAMPLE_ORDER, 0);
    plan->rows_order = philox_key(spec->seed, PHILOX_SAMPLE_ORDER, ORDER_OF_ROWS);
    plan->dealing = philox_key(spec->seed, PHILOX_SAMPLE_ORDER, BLOCK_OF_SAMPLES);
    if (spec->n_group > 0)
        open_groups(plan);
    else if (spec->whole || spec->n_samples <= ROW_PLAN_WHOLE)
        open_whole(plan);
    else
        open_blocks(plan);
    return plan;
}

void row_plan_close(RowPlan *plan)
{
    if (plan == NULL)
        return;
    for (int i = 0; i < CACHED_BLOCKS; i++)
        pack_free(plan->blocks[i].plan);
    pack_free(plan->rest);
    pack_free(plan->whole);
    g_free(plan->group);
    g_free(plan);
}

int64_t row_plan_rows(const RowPlan *plan)
{
    return plan->n_rows;
}

int64_t row_plan_max_samples(const RowPlan *plan)
{
    return plan->max_samples;
}

double row_plan_fill(const RowPlan *plan)
{
    return plan->fill;
}

/* ---- rows ---- */

static RowSamples packed_row(const PackPlan *plan, int64_t row)
{
    return (RowSamples){ plan->samples + plan->starts[row], plan->starts[row + 1] - plan->starts[row] };
}

static RowSamples group_row(RowPlan *plan, int64_t row)
{
    const int64_t first = row * plan->spec.n_group, n = MIN(plan->spec.n_group, plan->spec.n_samples - first);
    for (int64_t i = 0; i < n; i++)
        plan->group[i] = (uint32_t)(first + i);
    return (RowSamples){ plan->group, n };
}

static RowSamples block_row(RowPlan *plan, uint64_t epoch, int64_t at)
{
    const int64_t i = at / plan->block_rows, in_blocks = plan->n_blocks * plan->block_rows;
    if (at >= in_blocks)
        return packed_row(plan->rest, at - in_blocks);
    const PackPlan *block = find_block(plan, block_at(plan, epoch, i));
    uint64_t row = philox_permute(plan->rows_order, epoch * (uint64_t)plan->n_blocks + (uint64_t)i,
                                  (uint64_t)(at % plan->block_rows), (uint64_t)plan->block_rows);
    return packed_row(block, (int64_t)row);
}

RowSamples row_plan_get(RowPlan *plan, uint64_t epoch, int64_t at)
{
    CHECK(at >= 0 && at < plan->n_rows, "row %" PRId64 " of %" PRId64, at, plan->n_rows);
    if (plan->block_rows > 0)
        return block_row(plan, epoch, at);
    int64_t row = (int64_t)philox_permute(plan->order, epoch, (uint64_t)at, (uint64_t)plan->n_rows);
    return plan->whole ? packed_row(plan->whole, row) : group_row(plan, row);
}
