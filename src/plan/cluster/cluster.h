/* cluster.h: predictions of training on other machines: what is assumed of these (machine.c), how long a step takes in
 * a layout of ranks (cost.c), and all layouts in which a number of GPUs can train a model (layouts.c). */
#pragma once

#include "plan/memory.h"

/* ---- machine.c ---- */

typedef struct Machine {
    char name[64];
    int per_node;        /* GPUs (or, without GPUs, processors) of a node; each is one rank */
    double memory_bytes; /* memory of one GPU (or processor) */
    double flops;        /* FLOP/s that one GPU reaches in the blocks of a large model */
    double copy_bytes;   /* bytes/s that one GPU reads and writes in its memory */
    double within,
        between;     /* bytes/s that one GPU sends within its node, and to other nodes, while all others send too */
    double watts;    /* power of one GPU, with its share of the node; 0 means unknown */
    bool gpus;       /* the ranks compute on GPUs: batches, and copies of tensors to save, then need no GPU memory */
    bool bf16;       /* trains in bf16; false for GPUs that have only fp16 */
    double fp8;      /* rate of FP8 products as a multiple of `flops`; 0 means that the machine has no FP8 */
    double host;     /* of a GPU: bytes/s of copies to the memory of its host, and as many from it at the same time */
    double launch_s; /* of a GPU: seconds in which its host queues an operation; 0 for processors */
} Machine;

/* What is assumed of a GPU that was measured by `loam bench comm`, which does not measure these: the fields bf16, fp8
 * (0 unless has_fp8), host and launch_s. */
void machine_assume_gpu(Machine *machine, bool has_fp8);

/* Fills in a machine: `name` is that of a preset, in upper or lower case, or a file that `loam bench comm --out` wrote,
 * which has all fields except watts (0 then, unless somebody added them). Warns about a file that does not say whether
 * its ranks are GPUs. */
bool machine_find(Machine *machine, const char *name, GError **error);
/* "h200, h100, …": the names of the presets. g_free. */
char *machine_names(void);
/* "h100: nodes of 8 with 80 GB each; each computes 400 TFLOP/s, sends 380 GB/s within its node, 42 to others". g_free.
 */
char *machine_describe(const Machine *machine);

/* Makes a configuration one of a run on this machine: train.device becomes cuda or cpu, and train.precision=auto what
 * the machine trains in. Fails for a train.precision that the machine does not have. */
bool machine_configure(const Machine *machine, Config *config, GError **error);

/* A machine, without watts, as the member "machine" of a measurement of `bench comm`. json_t *; json_decref. */
json_t *machine_to_json(const Machine *machine);

/* cost.c: predicts how long a step takes in a layout of ranks on a cluster, by a simple model of its machines. The
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

/* Predicts a step of the largest batch; config->parallel.ranks >= 2. Lengths: as for memory_plan. */
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
/* Days of training with recomputed blocks, 8 T P / (n X): T tokens, P parameters, n GPUs, X FLOP/s of each. */
double training_days(double tokens, double parameters, int gpus, double flops);

/* ---- layouts.c ---- */

typedef struct Layout {
    int64_t data, tensor, context, pipeline; /* ranks; their product is the number of GPUs */
    int64_t interleave;                      /* stages of each rank of a pipeline */
    int64_t micro;       /* samples of a microbatch: a power of 2, or the configured number, of which
                            a rank takes at most as many as it has of a step */
    int zero, recompute; /* ZeroLevel, RECOMPUTE_* */
    bool configured;     /* the layout that the configuration has */
    StepCost cost;
} Layout;

/* The layouts of `gpus` ranks that config_check_layout accepts, with parallel.context as configured, 1, and 2, 4, … as
 * long as each rank has 4,096 tokens of a sample, and with microbatches of the powers of 2 up to 16, or up to
 * the configured number if that is larger, and of the configured number: an array of Layout, first those that fit into
 * memory, each part ordered by step time; of layouts whose times differ by less than 1 % the one with the least of
 * parallel.tensor, context, pipeline and interleave, ZeRO 2 and 3 and recomputation comes first. input_length,
 * target_length: as for memory_plan. NULL with an error if memory_plan fails. */
GArray *layouts_list(const Config *config, const Machine *machine, int gpus, int32_t input_length,
                     int32_t target_length, GError **error);
/* Of the layouts that fit, the one that changes the fewest options of the configuration; of several such layouts the
 * fastest. NULL if none fits. */
const Layout *layouts_nearest(const GArray *layouts, const Config *config);
/* The options of the layout that differ from the configuration's: "parallel.tensor=2 …". g_free. */
char *layout_options(const Layout *layout, const Config *config);
