/* cost.h: how long a step takes in a layout of ranks on a cluster, by a simple model of its machines.
 *
 * A pipeline of p stages takes m + p - 1 times as long as the slowest stage takes for a microbatch: its FLOPs at the
 * machine's rate, and its sums over tensor-parallel ranks, which nothing hides. Gradients and weights travel beside
 * backward passes (two thirds of the computing): at ZeRO 0 and 1 beside the last one, at 2 and 3 beside all; what is
 * left is added, and so is the update, at the rate of memory. Bytes are those that loam sends (MemoryPlan.sent_kinds):
 * every rank of a group sends directly to every other. */
#pragma once

#include "train/cluster/machine.h"
#include "train/memory.h"

typedef struct StepCost {
    double computing, bubble, tensor, pipeline, exchange, update; /* seconds, which add up to `step` */
    double hidden; /* seconds of gradients and weights beside computing */
    double step;
    double bubble_share;        /* of the time of all microbatches, that a stage waits */
    double between[SENT_KINDS]; /* share of the bytes that goes to other nodes */
    MemoryPlan stage;           /* of the stage that needs the most memory */
    int worst;                  /* its number, from 0 */
    double bytes;               /* that this stage needs of a GPU */
    bool fits;                  /* a GPU of the machine has as many */
} StepCost;

/* Share of the messages of a group that leave their node: n ranks, `stride` apart, from rank 0 on; each sends equally
 * much to every other, or if `chain`, to its neighbours. */
double cost_between(int n, int stride, int per_node, bool chain);

/* Predicts a step of the largest batch; config->parallel.ranks >= 2. input_length, target_length: as for memory_plan.
 */
bool cost_of_step(const Config *config, const Machine *machine, int32_t input_length, int32_t target_length,
                  StepCost *cost, GError **error);

/* FLOPs of a step as Megatron-LM counts them (with the recomputation of blocks, and the matrices of 4 times the width):
 * Narayanan et al. 2021. For a model of one stack; 0 for others. */
double megatron_step_flops(const ModelConfig *model, int64_t samples, int64_t length, bool recompute);
/* Days of a training run that recomputes its blocks, 8 T P / (n X): T tokens, P parameters, n GPUs, X FLOP/s of each.
 */
double training_days(double tokens, double parameters, int gpus, double flops);
