/* cost.h: how long a step takes in a layout of ranks on a cluster, by a simple model of its machines.
 *
 * A pipeline takes as long as its slowest rank takes for its microbatches (its FLOPs at the machine's rate, its sums
 * over tensor-parallel ranks and its exchanges with context-parallel ranks, which do not overlap with anything) and for
 * its bubble (pipeline_bubble), in which messages between ranks do not overlap with anything either: m + p - 1
 * microbatches with p ranks of one stage each. Communication of gradients and weights overlaps with backward passes
 * (two thirds of the computing): at ZeRO 0 and 1 with the last one, at ZeRO 2 and 3 with all. The rest of it is added,
 * and so is the update, whose time is that of reading and writing memory. Bytes are those that loam sends
 * (MemoryPlan.sent_kinds): every rank of a group sends directly to every other.
 */
#pragma once

#include "train/cluster/machine.h"
#include "train/memory.h"

typedef struct StepCost {
    double computing, bubble, tensor, context, pipeline, exchange, update; /* seconds, which add up to `step` */
    double hidden; /* seconds of communication of gradients and weights that overlap with computing */
    double step;
    double bubble_share;        /* share of the time of all microbatches in which a stage waits */
    double between[SENT_KINDS]; /* share of the bytes of each kind that are sent to other nodes */
    MemoryPlan stage;           /* memory plan of the stage that needs the most memory */
    int worst;                  /* number of that stage, counted from 0 */
    double bytes;               /* bytes of GPU memory that this stage needs */
    bool fits;                  /* a GPU of the machine has this much memory */
} StepCost;

/* Share of the messages of a group that leave their node: n ranks, `stride` apart, from rank 0 on; each sends equally
 * much to every other, or if `chain`, to its neighbours. */
double cost_between(int n, int stride, int per_node, bool chain);

/* Predicts a step of the largest batch; config->parallel.ranks >= 2. input_length, target_length: as for memory_plan.
 */
bool cost_of_step(const Config *config, const Machine *machine, int32_t input_length, int32_t target_length,
                  StepCost *cost, GError **error);

/* FLOPs of a step by the formula of Narayanan et al. 2021, which Megatron-LM prints: the feed-forward network counts as
 * 4 times as wide as the model, whatever model.ffn is. recompute: blocks run forward twice. 0 for a model with encoder
 * and decoder. */
double megatron_step_flops(const ModelConfig *model, int64_t samples, int64_t length, bool recompute);
/* Days of a training run that recomputes its blocks, 8 T P / (n X): T tokens, P parameters, n GPUs, X FLOP/s of each.
 */
double training_days(double tokens, double parameters, int gpus, double flops);
