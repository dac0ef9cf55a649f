/* cost.h: predicts how long a step takes in a layout of ranks on a cluster, by a simple model of its machines. The
 * time of a step is the sum of these parts:
 *
 * - computing, tensor, context: all microbatches on the slowest rank of the pipeline, which take its FLOPs at the
 *   machine's rate, its sums over tensor-parallel ranks and its exchanges with context-parallel ranks. None of them
 *   overlap with anything.
 *   FP8 products are computed at the machine's rate of these.
 * - launches: the time by which a GPU's host takes longer to queue the operations than they take (launch_s each).
 * - bubble: the time in which ranks of a pipeline wait for each other (pipeline_bubble). With p ranks of one stage
 *   each, m microbatches and the bubble take as long as m + p - 1 microbatches.
 * - pipeline: messages between stages during the bubble; all others overlap with computing.
 * - exchange: communication of gradients and weights that does not overlap with backward passes, which are two thirds
 *   of computing. At ZeRO 0 and 1 it overlaps with the backward pass of the last microbatch, at ZeRO 2 and 3 with all.
 * - update: the matrix products of the optimizer, and reading and writing the memory of weights, gradients and
 *   optimizer states, of the rank's part with ZeRO; with optim.offload the copies of states and master weights from the
 *   memory of the host and back, in both directions at once, if they take longer.
 *
 * Bytes are those that loam sends (MemoryPlan.sent_kinds): every rank of a group sends directly to every other. */
#pragma once

#include "plan/cluster/machine.h"
#include "plan/memory.h"

typedef struct StepCost {
    double computing, launches, bubble, tensor, context, pipeline, exchange, update; /* seconds, the sum is `step` */
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
/* The costs of n configurations, which differ in parallel.zero, train.recompute and train.micro_batch only: they are
 * planned together, in much less time than one by one. */
bool cost_of_steps(const Config *configs, int n, const Machine *machine, int32_t input_length, int32_t target_length,
                   StepCost *costs, GError **error);

/* FLOPs of a step by the formula of Narayanan et al. 2021, which Megatron-LM prints: the feed-forward network counts as
 * 4 times as wide as the model, whatever model.ffn is. recompute: blocks run forward twice. 0 for a model with encoder
 * and decoder. */
double megatron_step_flops(const ModelConfig *model, int64_t samples, int64_t length, bool recompute);
/* Days of a training run that recomputes its blocks, 8 T P / (n X): T tokens, P parameters, n GPUs, X FLOP/s of each.
 */
double training_days(double tokens, double parameters, int gpus, double flops);
