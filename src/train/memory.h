/* memory.h: what a run will hold in memory, known before anything is allocated. */
#pragma once

#include "train/config/config.h"

typedef struct MemoryPlan {
    size_t weights, gradients, optimizer, activations, batches; /* bytes */
} MemoryPlan;

/* Runs the step on the null device. model.vocab must be resolved; lengths are the objective's. */
bool memory_plan(const Config *config, int32_t input_length, int32_t target_length, MemoryPlan *plan, GError **error);
/* "1.2 GiB: weights 293.6 MiB, gradients …". g_free. */
char *memory_describe(const MemoryPlan *plan);
/* Refuses a plan that exceeds what the machine has free, or what a limit of the address space leaves beside so many
 * compute threads, before it is killed for it half-way. */
bool memory_check(const MemoryPlan *plan, int threads, GError **error);
/* Bytes that the control groups named in `groups` (/proc/self/cgroup), which lie below `root` (/sys/fs/cgroup), leave
 * to this process: limits of version 1 and 2; SIZE_MAX: none. */
size_t memory_group_room(const char *groups, const char *root);
