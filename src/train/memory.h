/* memory.h: how much memory a run needs, computed before anything is allocated. */
#pragma once

#include "train/config/config.h"

typedef struct MemoryPlan {
    size_t weights, gradients, optimizer, activations, batches; /* bytes */
    size_t device;   /* bytes of all blocks of memory that the run takes of its device, as a GPU rounds them up */
    size_t host;     /* bytes of the host beside a GPU, with optim.offload: master weights and optimizer state */
    int64_t trained; /* parameters that are not frozen */
} MemoryPlan;

/* Runs one step on the null device, which counts bytes. model.vocab must be resolved; input_length and target_length
 * are the lengths of the encoder's and the decoder's samples, 0 for a stream that the objective does not fill. */
bool memory_plan(const Config *config, int32_t input_length, int32_t target_length, MemoryPlan *plan, GError **error);
/* "1.2 GiB: weights 293.6 MiB, gradients …", without the host's part but for its size at the end. g_free. */
char *memory_describe(const MemoryPlan *plan);
/* ", 294,912 of them trained" where some of so many parameters are frozen, else "". g_free. */
char *memory_describe_trained(const MemoryPlan *plan, int64_t params);
/* An error where the plan exceeds the free memory of the GPU; or of the machine, the limit of the control group, or the
 * limit of the address space (ulimit -v) less the part that the compute threads take of it: call stacks, and the heaps
 * of malloc. Beside a GPU the machine holds the batches, and with optim.offload what that option moves there. The error
 * says which train.micro_batch, train.recompute, optim.offload or train.scores would fit; the configuration and the
 * lengths are those of memory_plan. */
bool memory_check(const MemoryPlan *plan, const Config *config, int32_t input_length, int32_t target_length,
                  Device *dev, GError **error);
/* memory_plan, memory_check and, on a GPU, one allocation of what is planned, of which device_alloc cuts its blocks. To
 * be called before the model is opened. */
bool memory_take(MemoryPlan *plan, const Config *config, int32_t input_length, int32_t target_length, Device *dev,
                 GError **error);
/* Bytes that may still be allocated: the smallest limit less usage of the control groups (cgroups, versions 1 and 2)
 * that the file `groups` (/proc/self/cgroup) lists and of their parents. root: where they are mounted (/sys/fs/cgroup).
 * SIZE_MAX means no limit. */
size_t memory_group_room(const char *groups, const char *root);
