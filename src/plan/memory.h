/* memory.h: how much memory a run needs, computed before anything is allocated. */
#pragma once

#include "run/config/config.h"

typedef struct MemoryPlan {
    size_t weights, gradients, optimizer, activations, batches; /* bytes */
    size_t scratch;                                             /* on a GPU: bytes that operations work in; else 0 */
    size_t device;  /* bytes that the run allocates on its device; on a GPU each allocation is rounded up */
    size_t host;    /* with optim.offload on a GPU: bytes of master weights and optimizer state in host memory */
    size_t updated; /* bytes of the device that an update of this rank reads and writes, except optimizer states */
    size_t saving;  /* bytes of host memory for the copy of the tensors that a rank saves, with train.save_async */
    int ranks;      /* number of ranks that are threads of this process, each of which needs all of the above; else 1 */
    int64_t sent;   /* bytes that a rank sends to others in a step; 0 with one rank */
    SentBytes sent_kinds;    /* `sent`, divided by the kind of data */
    int64_t micro_batches;   /* number of microbatches of a rank in a step */
    double flops, fp8_flops; /* of a microbatch of this rank; memory_plan counts them only if there are several ranks */
    double update_flops; /* of the matrix products of an update of this rank, such as those of Muon; counted likewise */
    int64_t launches;    /* on a GPU, in a step of all microbatches (DeviceCounts.launches); counted as `flops` are */
    int64_t trained;     /* parameters that are not frozen, of all ranks together */
    size_t saved;        /* bytes of the planned rank's part of a checkpoint */
    Stages stages;       /* the blocks of the planned rank */
} MemoryPlan;

/* Computes the plan by running one step on the null device, which counts bytes. model.vocab must be resolved.
 * input_length and target_length: tokens per sample in encoder and decoder; 0 for a stack that the model lacks. */
bool memory_plan(const Config *config, int32_t input_length, int32_t target_length, MemoryPlan *plan, GError **error);
/* As memory_plan, but leaves MemoryPlan.trained 0, which takes half the time. */
bool memory_plan_rank(const Config *config, int32_t input_length, int32_t target_length, MemoryPlan *plan,
                      GError **error);
/* Plans one rank of a pipeline in many ways, in a fraction of the time that memory_plan_rank takes for each: with other
 * ZeRO levels, other microbatches, with and without recomputation. What plans have in common is measured once. */
typedef struct MemoryPlanner MemoryPlanner;
MemoryPlanner *memory_planner_new(int32_t input_length, int32_t target_length);
void memory_planner_free(MemoryPlanner *planner);
/* The plan of memory_plan_rank, with its work also if there is only one rank. From one call to the next only
 * parallel.zero, train.recompute and train.micro_batch may change. */
bool memory_planner_plan(MemoryPlanner *planner, const Config *config, MemoryPlan *plan, GError **error);
/* Bytes of the device's memory, of batches and of the copy to save. */
size_t memory_total(const MemoryPlan *plan);
/* A description, "1.2 GiB: weights 293.6 MiB, gradients …": memory_total and its parts, of which the batches are not
 * listed; MemoryPlan.host, which is not in the total, stands at the end. g_free. */
char *memory_describe(const MemoryPlan *plan);
/* ", 294,912 of them trained" if some of the `params` parameters are frozen, else "". g_free. */
char *memory_describe_trained(const MemoryPlan *plan, int64_t params);
/* Fails if the plan exceeds the free memory of the GPU or of the machine, the control group's limit, or that of the
 * address space (ulimit -v) minus the threads' stacks and malloc's heaps. If the device is a GPU, the machine needs
 * memory only for batches and for the part moved by optim.offload. The error suggests values of train.micro_batch,
 * train.recompute, optim.offload or train.scores that would fit. config and lengths: as for memory_plan. */
bool memory_check(const MemoryPlan *plan, const Config *config, int32_t input_length, int32_t target_length,
                  Device *dev, GError **error);
/* Whether the plan takes at most this share of the memory that memory_check compares it with. */
bool memory_fits(const Config *config, int32_t input_length, int32_t target_length, Device *dev, double share);
/* Calls memory_plan and memory_check; on a GPU it also allocates the planned memory at once, and device_alloc then
 * hands out parts of it. To be called before the model is opened. */
bool memory_take(MemoryPlan *plan, const Config *config, int32_t input_length, int32_t target_length, Device *dev,
                 GError **error);
/* Bytes that may still be allocated: the minimum of limit - (usage without inactive file cache) over the control groups
 * (cgroups, versions 1 and 2) in the file `groups` (/proc/self/cgroup) and over their parents. root: where cgroups are
 * mounted (/sys/fs/cgroup). SIZE_MAX means no limit. */
size_t memory_group_room(const char *groups, const char *root);
