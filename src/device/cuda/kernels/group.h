/* group.h: groups of optimizer operations (device_group_begin in device.h): one kernel launch executes all calls of one
 * operation in a group. Until the group ends, lists keep the arguments of calls, one list per operation. */
#pragma once

#include "device/cuda/kernels/gpu.h"

/* MOST_JOBS: largest number of calls that one launch executes. Their arguments are parameters of the kernel, which CUDA
 * limits to 32,764 bytes (MOST_PARAMETERS). */
enum { MOST_JOBS = GROUP_CALLS, MOST_PARAMETERS = 32764 };

/* The kinds of operations that a group fuses. */
enum GroupKind {
    GROUP_SUMSQ,
    GROUP_ADAMW,
    GROUP_MOMENTS, /* adafactor_moments */
    GROUP_COLUMNS, /* adafactor_columns */
    GROUP_SIZE,    /* adafactor_size */
    GROUP_ADAFACTOR,
    GROUP_KINDS
};

/* The arguments of one call of an operation in a group; those that the operation lacks are NO_TENSOR, 0 or NULL. */
struct Update {
    Tensor w, rounded, m, v, g, row, col, row_sum, col_sums, squares, size;
    float beta;
    AdamwSpec adamw;
    AdafactorSpec adafactor;
    const StepScalars *scalars;
};

/* Executes n calls of one kind of operation, 1 <= n <= MOST_JOBS, none of which depends on another. */
typedef void (*GroupRun)(Device *dev, const Update *updates, int n);

/* The calls of one kind that wait for the end of the group. */
struct GroupList {
    GroupRun run;
    int n;
    Update of[MOST_JOBS];
};

/* The current group of a GPU, zero-initialised. `open`: it has begun and not ended; otherwise all lists are empty. */
struct Group {
    bool open;
    GroupList lists[GROUP_KINDS];
};
/* The Group of a GPU. */
Group *gpu_group(Gpu *gpu);

/* Executes a call at once; or, if a group is open, later together with the other calls of its kind. */
void group_add(Device *dev, GroupKind kind, GroupRun run, const Update &update);
/* OpTable.group: begins a group (open true) or ends it, which executes the calls that wait. */
void group_set(Device *dev, bool open);
