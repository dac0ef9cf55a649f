/* micro_batch.h: train.micro_batch=auto, the microbatch chosen by memory. */
#pragma once

#include "run/config/config.h"

/* Largest number of tokens, of encoder and decoder together, in a microbatch that is chosen for a CPU. Larger
 * microbatches would need more memory and make a step no faster (docs/performance.md). */
enum { MICRO_CPU_TOKENS = 8192 };

/* Whether a rank could train with the configuration's train.micro_batch. */
typedef bool MicroBatchFits(const Config *config, int32_t input_length, int32_t target_length, void *context);

/* Replaces train.micro_batch=auto by a number of samples: that in RUN/config.yaml, if the run has one that still fits,
 * else the largest that fits. On a GPU a microbatch may take all free memory; on a CPU it may take half of the free
 * memory and has at most MICRO_CPU_TOKENS tokens. A pipeline gets at least four microbatches per stage, if a rank has
 * so many samples. The microbatches of a step are of equal size, except for rounding. If nothing fits, the number is 1.
 * Does nothing if train.micro_batch is a number.
 * input_length and target_length: as for memory_plan. It is an error if RUN/config.yaml cannot be read. */
bool micro_batch_choose(Config *config, int32_t input_length, int32_t target_length, Device *dev, GError **error);
/* The same for a machine that is only described: `fits` says what fits there, with `context` as its last argument. */
void micro_batch_choose_for(Config *config, int32_t input_length, int32_t target_length, MicroBatchFits *fits,
                            void *context);
