/* group.h: operations of optimizers, which are one launch for all tensors of a group (device_group_begin in device.h).
 * Until the group ends their arguments wait in lists, one for each kind of operation. */
#pragma once

#include "device/cuda/kernels/gpu.h"

/* Calls that one launch does: their arguments are parameters of the kernel, of which CUDA takes 32,764 bytes. */
enum { MOST_JOBS = 24, MOST_PARAMETERS = 32764 };

enum GroupKind {
    GROUP_SUMSQ,
    GROUP_ADAMW,
    GROUP_MOMENTS, /* adafactor_moments */
    GROUP_COLUMNS, /* adafactor_columns */
    GROUP_SIZE,    /* adafactor_size */
    GROUP_ADAFACTOR,
    GROUP_KINDS
};

/* The arguments of one call; what an operation does not have is absent. */
struct Update {
    Tensor w, rounded, m, v, g, row, col, row_sum, col_sums, squares, size;
    float beta;
    AdamwSpec adamw;
    AdafactorSpec adafactor;
    const StepScalars *scalars;
};

/* Does n calls of one kind, 1 <= n <= MOST_JOBS, none of which depends on another. */
typedef void (*GroupRun)(Device *dev, const Update *updates, int n);

struct GroupList {
    GroupRun run;
    int n;
    Update of[MOST_JOBS];
};

/* The group of a GPU, zeroed memory at first. Between groups all lists are empty. */
struct Group {
    bool open;
    GroupList lists[GROUP_KINDS];
};
Group *gpu_group(Gpu *gpu);

/* Does the call now, or with the others of its kind where a group is open. */
void group_add(Device *dev, GroupKind kind, GroupRun run, const Update &update);
/* The backend's device_group_begin and device_group_end. */
void group_set(Device *dev, bool open);
