#include "data/epoch_plan.h"

#include "base/check.h"
#include "base/philox.h"

#include <glib.h>
#include <inttypes.h>
#include <math.h>

/* Blocks that are kept; several, because ranks that share a plan read different packed sequences of a batch. */
#define CACHED_BLOCKS 8
#define DEVIATIONS    5 /* safety margin of packed sequences per block, in standard deviations of their number */
/* Least standard deviation of the number of packed sequences, over its square root: if all samples are equally long. */
#define LEAST_DEVIATION 0.2
/* `layer` of the random keys for the order within a block; layer 0 is for the order of blocks, or of a whole plan. */
#define ORDER_IN_BLOCK   1
#define BLOCK_OF_SAMPLES 2

/* A cached block of packed sequences, planned together. */
typedef struct Block {
    int64_t number;    /* number of the block; -1 means an empty entry of the cache */
    PackPlan *plan;    /* the plan of the block, with sample numbers of the dataset */
    uint64_t last_use; /* value of EpochPlan.uses when it was last requested */
} Block;

struct EpochPlan {
    EpochPlanSpec spec;
    PhiloxKey order, order_in_block, dealing;
    int64_t n_packed, max_samples;
    PackLength used, all; /* tokens of samples and capacity of packed sequences, in those that are counted */
    PackPlan *whole;      /* the plan of all samples; NULL means that they are packed in groups or in blocks */
    uint32_t *group;      /* (n_group) the samples that epoch_plan_get returned last, if samples are packed in groups */
    /* Blocks: */
    int64_t n_blocks, block_packed; /* block_packed 0 means not known yet */
    Block blocks[CACHED_BLOCKS];
    PackPlan *rest; /* plan of the samples after all blocks, numbered from 0: the last packed ones of an epoch */
    uint64_t uses;
};

/* ---- the samples of a block ---- */

/* Samples 2i and 2i + 1, whose lengths may complement each other, are in the same block. Of n_blocks consecutive pairs
 * each block gets one, so every block is a fair sample of the dataset, in whatever order that is. All blocks have
 * equally many samples; those that are left at the end of the dataset are packed on their own. */
static int64_t block_samples(const EpochPlan *plan)
{
    return plan->spec.n_samples / 2 / plan->n_blocks * 2;
}

static uint32_t *deal(const EpochPlan *plan, int64_t block)
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

/* The lengths of a block's samples, and the sums of the lengths and of their squares, in units of the capacity. */
typedef struct BlockLengths {
    const EpochPlanSpec *spec;
    const uint32_t *samples;
    double *sum, *squares;
} BlockLengths;

static PackLength length_in_block(const void *context, int64_t i)
{
    const BlockLengths *lengths = context;
    const EpochPlanSpec *spec = lengths->spec;
    PackLength length = spec->length(spec->context, lengths->samples[i]);
    double share = (double)(length.enc + length.dec) / (double)(spec->capacity.enc + spec->capacity.dec);
    *lengths->sum += share;
    *lengths->squares += share * share;
    return length;
}

/* Splits packed sequences of several samples until there are n_packed, at most the number of samples. */
static void divide_packed(PackPlan *plan, int64_t n_packed)
{
    while (plan->n_packed < n_packed) {
        int64_t *starts = g_new(int64_t, n_packed + 1), n = 0, missing = n_packed - plan->n_packed;
        for (int64_t i = 0; i < plan->n_packed; i++) {
            int64_t first = plan->starts[i], samples = plan->starts[i + 1] - first;
            starts[n++] = first;
            if (samples > 1 && missing > 0) {
                starts[n++] = first + samples / 2;
                missing--;
            }
        }
        starts[n] = plan->starts[plan->n_packed];
        g_free(plan->starts);
        plan->starts = starts;
        plan->n_packed = n;
    }
}

/* The number of packed sequences of each block: that of this block and a margin, because blocks differ in the sum of
 * their lengths and in how well these fit together. */
static int64_t packed_with_margin(const PackPlan *block, double sum, double squares)
{
    double n = (double)block->n_samples, mean = sum / n, packed = (double)block->n_packed;
    double deviation = sqrt(MAX(n * (squares / n - mean * mean), LEAST_DEVIATION * LEAST_DEVIATION * packed));
    return MIN(block->n_packed + (int64_t)ceil(DEVIATIONS * deviation), block->n_samples);
}

static PackPlan *pack_block(EpochPlan *plan, int64_t number)
{
    const int64_t n = block_samples(plan);
    double sum = 0, squares = 0;
    g_autofree uint32_t *samples = deal(plan, number);
    const BlockLengths lengths = { &plan->spec, samples, &sum, &squares };
    PackPlan *block = pack_plan(n, plan->spec.capacity, length_in_block, &lengths, plan->max_samples);
    for (int64_t i = 0; i < n; i++)
        block->samples[i] = samples[block->samples[i]];
    if (plan->block_packed == 0)
        plan->block_packed = packed_with_margin(block, sum, squares);
    divide_packed(block, plan->block_packed);
    return block;
}

static const PackPlan *find_block(EpochPlan *plan, int64_t number)
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

static int64_t block_at(const EpochPlan *plan, uint64_t epoch, int64_t i)
{
    return (int64_t)philox_permute(plan->order, epoch, (uint64_t)i, (uint64_t)plan->n_blocks);
}

/* ---- opening ---- */

static PackLength multiple(PackLength length, int64_t n)
{
    return (PackLength){ length.enc * n, length.dec * n };
}

static void open_groups(EpochPlan *plan)
{
    const EpochPlanSpec *spec = &plan->spec;
    const int64_t n =
        spec->n_samples > EPOCH_PLAN_WHOLE ? EPOCH_PLAN_WHOLE / spec->n_group * spec->n_group : spec->n_samples;
    for (int64_t i = 0; i < n; i++) {
        PackLength length = spec->length(spec->context, i);
        plan->used.enc += length.enc;
        plan->used.dec += length.dec;
    }
    plan->n_packed = (spec->n_samples + spec->n_group - 1) / spec->n_group;
    plan->max_samples = MIN(spec->n_group, spec->n_samples);
    plan->group = g_new(uint32_t, spec->n_group);
    plan->all = multiple(spec->capacity, (n + spec->n_group - 1) / spec->n_group);
}

static PackLength length_in_rest(const void *context, int64_t i)
{
    const EpochPlan *plan = context;
    return plan->spec.length(plan->spec.context, plan->n_blocks * block_samples(plan) + i);
}

/* Plans the first block of the first epoch to find the number of packed sequences that all blocks get. */
static void open_blocks(EpochPlan *plan)
{
    plan->n_blocks = (plan->spec.n_samples + EPOCH_PLAN_BLOCK - 1) / EPOCH_PLAN_BLOCK;
    const int64_t dealt = plan->n_blocks * block_samples(plan);
    const PackPlan *first = find_block(plan, block_at(plan, 0, 0));
    plan->max_samples = first->max_samples;
    plan->rest = pack_plan(plan->spec.n_samples - dealt, plan->spec.capacity, length_in_rest, plan, plan->max_samples);
    for (int64_t i = 0; i < plan->rest->n_samples; i++)
        plan->rest->samples[i] += (uint32_t)dealt;
    plan->n_packed = plan->n_blocks * plan->block_packed + plan->rest->n_packed;
    plan->used = first->used;
    plan->all = multiple(plan->spec.capacity, plan->block_packed);
}

static void open_whole(EpochPlan *plan)
{
    const EpochPlanSpec *spec = &plan->spec;
    plan->whole = pack_plan(spec->n_samples, spec->capacity, spec->length, spec->context, 0);
    plan->n_packed = plan->whole->n_packed;
    plan->max_samples = plan->whole->max_samples;
    plan->used = plan->whole->used;
    plan->all = plan->whole->all;
}

EpochPlan *epoch_plan_open(const EpochPlanSpec *spec)
{
    EpochPlan *plan = g_new0(EpochPlan, 1);
    plan->spec = *spec;
    plan->order = philox_key(spec->seed, PHILOX_SAMPLE_ORDER, 0);
    plan->order_in_block = philox_key(spec->seed, PHILOX_SAMPLE_ORDER, ORDER_IN_BLOCK);
    plan->dealing = philox_key(spec->seed, PHILOX_SAMPLE_ORDER, BLOCK_OF_SAMPLES);
    if (spec->n_group > 0)
        open_groups(plan);
    else if (spec->whole || spec->n_samples <= EPOCH_PLAN_WHOLE)
        open_whole(plan);
    else
        open_blocks(plan);
    return plan;
}

void epoch_plan_close(EpochPlan *plan)
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

int64_t epoch_plan_packed(const EpochPlan *plan)
{
    return plan->n_packed;
}

int64_t epoch_plan_max_samples(const EpochPlan *plan)
{
    return plan->max_samples;
}

double epoch_plan_fill(const EpochPlan *plan)
{
    return (double)(plan->used.enc + plan->used.dec) / (double)(plan->all.enc + plan->all.dec);
}

double epoch_plan_input_fill(const EpochPlan *plan)
{
    const bool decoder_alone = plan->all.enc == 0;
    return decoder_alone ? epoch_plan_fill(plan) : (double)plan->used.enc / (double)plan->all.enc;
}

/* ---- packed sequences ---- */

static PackedSamples samples_of(const PackPlan *plan, int64_t i)
{
    return (PackedSamples){ plan->samples + plan->starts[i], plan->starts[i + 1] - plan->starts[i] };
}

static PackedSamples samples_of_group(EpochPlan *plan, int64_t group)
{
    const int64_t first = group * plan->spec.n_group, n = MIN(plan->spec.n_group, plan->spec.n_samples - first);
    for (int64_t i = 0; i < n; i++)
        plan->group[i] = (uint32_t)(first + i);
    return (PackedSamples){ plan->group, n };
}

static PackedSamples samples_in_block(EpochPlan *plan, uint64_t epoch, int64_t at)
{
    const int64_t i = at / plan->block_packed, in_blocks = plan->n_blocks * plan->block_packed;
    if (at >= in_blocks)
        return samples_of(plan->rest, at - in_blocks);
    const PackPlan *block = find_block(plan, block_at(plan, epoch, i));
    uint64_t within = philox_permute(plan->order_in_block, epoch * (uint64_t)plan->n_blocks + (uint64_t)i,
                                     (uint64_t)(at % plan->block_packed), (uint64_t)plan->block_packed);
    return samples_of(block, (int64_t)within);
}

PackedSamples epoch_plan_get(EpochPlan *plan, uint64_t epoch, int64_t at)
{
    CHECK(at >= 0 && at < plan->n_packed, "packed sequence %" PRId64 " of %" PRId64, at, plan->n_packed);
    if (plan->block_packed > 0)
        return samples_in_block(plan, epoch, at);
    int64_t i = (int64_t)philox_permute(plan->order, epoch, (uint64_t)at, (uint64_t)plan->n_packed);
    return plan->whole ? samples_of(plan->whole, i) : samples_of_group(plan, i);
}
