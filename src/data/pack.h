/* pack.h: which samples share a row, so that nothing is padded: best-fit in two dimensions, the capacities of both
 * streams, within blocks of 2^20 samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACK_BLOCK (1 << 20)

typedef struct PackLength {
    int64_t enc, dec; /* tokens; a stream that is not there takes 0 */
} PackLength;

/* Of a sample; none is above the capacity. */
typedef PackLength (*PackLengthFn)(const void *context, int64_t sample);

typedef struct PackPlan {
    int64_t n_rows, n_samples;
    int64_t *starts;      /* (n_rows + 1) into samples */
    uint32_t *samples;    /* (n_samples) those of row 0, then those of row 1, … */
    int64_t max_samples;  /* of one row */
    PackLength used, all; /* tokens, and rows times capacity */
} PackPlan;

/* n_samples < 2^32. Depends on nothing but its arguments. */
PackPlan *pack_plan(int64_t n_samples, PackLength capacity, PackLengthFn length, const void *context);
/* Rows of n_group samples that follow each other, which must fit. */
PackPlan *pack_groups(int64_t n_samples, int64_t n_group, PackLength capacity, PackLengthFn length,
                      const void *context);
void pack_free(PackPlan *plan);
