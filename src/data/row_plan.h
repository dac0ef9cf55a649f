/* row_plan.h: decides which samples share a row (a packed sequence), and in which order the rows of an epoch come. Up
 * to ROW_PLAN_WHOLE samples are packed when the plan is opened, and each epoch shuffles all rows together. More samples
 * are dealt at random into blocks of about ROW_PLAN_BLOCK samples, and a block is packed when one of its rows is asked
 * for. Each epoch then goes through the blocks in a new order, and through the rows of each block in a new order. So
 * opening a plan takes a second whatever the number of samples, and the memory does not grow with it. */
#pragma once

#include "data/pack.h"

#define ROW_PLAN_BLOCK (1 << 16)
#define ROW_PLAN_WHOLE (1 << 18)

typedef struct RowPlanSpec {
    int64_t n_samples;   /* below 2^32 */
    int64_t n_group;     /* above 0: a row holds n_group consecutive samples; 0: samples are packed by their lengths */
    PackLength capacity; /* of a row */
    PackLengthFn length; /* length of a sample, the same whenever it is called */
    const void *context; /* first argument of `length`; must outlive the plan */
    uint64_t seed;       /* of the order of rows, and of the block of each sample */
    bool whole;          /* all samples are packed when the plan is opened, whatever their number */
} RowPlanSpec;

/* The samples of a row, in their order. */
typedef struct RowSamples {
    const uint32_t *samples; /* (n) */
    int64_t n;
} RowSamples;

typedef struct RowPlan RowPlan; /* not thread-safe */
/* Every row has the same samples in all epochs, and every sample is in exactly one row. There is one exception: all
 * blocks have the same number of rows, estimated from one block with a margin of five standard deviations. If a block
 * needs more, which happens to fewer than one block in a million, its remaining samples are in no row. */
RowPlan *row_plan_open(const RowPlanSpec *spec);
void row_plan_close(RowPlan *plan);
int64_t row_plan_rows(const RowPlan *plan);        /* rows of an epoch */
int64_t row_plan_max_samples(const RowPlan *plan); /* no row has more samples */
/* Tokens of the samples / capacity of the rows; estimated from the first samples if there are more than
 * ROW_PLAN_WHOLE. */
double row_plan_fill(const RowPlan *plan);
/* The samples of row `at` of an epoch; valid until the next call. */
RowSamples row_plan_get(RowPlan *plan, uint64_t epoch, int64_t at);
