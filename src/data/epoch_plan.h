/* epoch_plan.h: decides which samples share a packed sequence, and in which order those of an epoch come. Up
 * to EPOCH_PLAN_WHOLE samples are packed when the plan is opened, and each epoch shuffles all packed sequences
 * together. More samples are dealt at random into blocks of about EPOCH_PLAN_BLOCK samples, and a block is packed when
 * one of its packed sequences is asked for. Each epoch then goes through the blocks in a new order, and through the
 * packed sequences of each block in a new order. So opening a plan takes a second whatever the number of samples, and
 * the memory does not grow with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* ---- pack.c: decides which samples share a packed sequence, so that little of its capacity stays empty: best-fit bin
 * packing in two dimensions (tokens of the encoder's and of the decoder's stream). The samples are packed in groups of
 * PACK_BLOCK consecutive ones; no packed sequence holds samples of two groups ---- */

#define PACK_BLOCK (1 << 20)

typedef struct PackLength {
    int64_t enc, dec; /* tokens in the encoder's and the decoder's stream; 0 means a stream that stays empty */
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

/* ---- the plan of an epoch ---- */

#define EPOCH_PLAN_BLOCK (1 << 16)
#define EPOCH_PLAN_WHOLE (1 << 18)

typedef struct EpochPlanSpec {
    int64_t n_samples;   /* below 2^32 */
    int64_t n_group;     /* number of consecutive samples in a packed sequence; 0 means packed by length */
    PackLength capacity; /* of a packed sequence */
    PackLengthFn length; /* length of a sample, the same whenever it is called */
    const void *context; /* first argument of `length`; must outlive the plan */
    uint64_t seed;       /* of the order of packed sequences, and of the block of each sample */
    bool whole;          /* all samples are packed when the plan is opened, whatever their number */
} EpochPlanSpec;

/* The samples of a packed sequence, in their order. */
typedef struct PackedSamples {
    const uint32_t *samples; /* (n) */
    int64_t n;
} PackedSamples;

typedef struct EpochPlan EpochPlan; /* not thread-safe */
/* A packed sequence has the same samples in all epochs, and every sample is in exactly one. There is one exception: all
 * blocks have the same number of packed sequences, estimated from one block with a margin of five standard deviations.
 * If a block needs more, which happens to fewer than one block in a million, its remaining samples are in none. */
EpochPlan *epoch_plan_open(const EpochPlanSpec *spec);
void epoch_plan_close(EpochPlan *plan);
int64_t epoch_plan_packed(const EpochPlan *plan);      /* packed sequences of an epoch */
int64_t epoch_plan_max_samples(const EpochPlan *plan); /* no packed sequence has more samples */
/* Tokens of samples / capacity of packed sequences; of more than EPOCH_PLAN_WHOLE an estimate by the first ones. */
double epoch_plan_fill(const EpochPlan *plan);
/* The same of the input: the encoder's stream, or the decoder's in a decoder-only model. */
double epoch_plan_input_fill(const EpochPlan *plan);
/* The samples of packed sequence `at` of an epoch; valid until the next call. */
PackedSamples epoch_plan_get(EpochPlan *plan, uint64_t epoch, int64_t at);
