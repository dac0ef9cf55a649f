/* pack.h: decides which samples share a packed sequence (`row` in code), so that little of its capacity is unused:
 * best-fit bin packing in two dimensions (tokens of the encoder's and of the decoder's stream), within blocks of 2^20
 * consecutive samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACK_BLOCK (1 << 20)

typedef struct PackLength {
    int64_t enc, dec; /* tokens in each stream; 0 if the objective does not fill the stream */
} PackLength;

/* The length of a sample, at most the capacity of a packed sequence. */
typedef PackLength (*PackLengthFn)(const void *context, int64_t sample);

typedef struct PackPlan {
    int64_t n_rows, n_samples;
    int64_t *starts;      /* (n_rows + 1) packed sequence r is samples[starts[r]] … samples[starts[r + 1] - 1] */
    uint32_t *samples;    /* (n_samples) indices of the samples */
    int64_t max_samples;  /* most samples in one packed sequence */
    PackLength used, all; /* used: tokens of all samples; all: n_rows times the capacity */
} PackPlan;

/* Packs by length; n_samples < 2^32. Equal arguments give equal plans. */
PackPlan *pack_plan(int64_t n_samples, PackLength capacity, PackLengthFn length, const void *context);
/* Puts n_group consecutive samples, which must fit, into every packed sequence. */
PackPlan *pack_groups(int64_t n_samples, int64_t n_group, PackLength capacity, PackLengthFn length,
                      const void *context);
void pack_free(PackPlan *plan);
