/* pack.h: decides which samples share a packed sequence, so that little of its capacity stays empty: best-fit bin
 * packing in two dimensions (tokens of the encoder's and of the decoder's stream). The samples are packed in groups of
 * PACK_BLOCK consecutive ones; no packed sequence holds samples of two groups. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACK_BLOCK (1 << 20)

typedef struct PackLength {
    int64_t enc, dec; /* number of tokens in the encoder's and the decoder's stream; 0 if the objective does not fill
                         the stream */
} PackLength;

/* Returns the length of sample number `sample`, which is at most the capacity of a packed sequence. */
typedef PackLength (*PackLengthFn)(const void *context, int64_t sample);

/* Which samples each packed sequence holds. */
typedef struct PackPlan {
    int64_t n_packed, n_samples;
    int64_t *starts;     /* (n_packed + 1) packed sequence i is samples[starts[i]] … samples[starts[i + 1] - 1] */
    uint32_t *samples;   /* (n_samples) indices of the samples */
    int64_t max_samples; /* largest number of samples in one packed sequence */
    PackLength used,
        all; /* used: number of tokens in all samples; all: n_packed times the capacity of a packed sequence */
} PackPlan;

/* Packs n_samples < 2^32 samples by their lengths, at most `most` into one packed sequence; most 0 means any number.
 * Equal arguments give equal plans. */
PackPlan *pack_plan(int64_t n_samples, PackLength capacity, PackLengthFn length, const void *context, int64_t most);
void pack_free(PackPlan *plan);
