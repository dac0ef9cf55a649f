/* group.h: groups of optimizer operations (device_group_begin in device.h): one kernel launch serves all tensors of a
 * group. Until the group ends, the calls' arguments are kept in lists, one per kind of operation. */
#pragma once

#include "device/cuda/kernels/gpu.h"

/* Most calls that one launch serves: their arguments are parameters of the kernel, at most 32,764 bytes in CUDA. */
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

/* The arguments of one call; tensors that the operation does not have are NO_TENSOR. */
struct Update {
    Tensor w, rounded, m, v, g, row, col, row_sum, col_sums, squares, size;
    float beta;
    AdamwSpec adamw;
    AdafactorSpec adafactor;
    const StepScalars *scalars;
};

/* Executes n calls of one kind, 1 <= n <= MOST_JOBS, none of which depends on another. */
typedef void (*GroupRun)(Device *dev, const Update *updates, int n);

struct GroupList {
    GroupRun run;
    int n;
    Update of[MOST_JOBS];
};

/* The open group of a GPU; zero-initialised. Between groups all lists are empty. */
struct Group {
    bool open;
    GroupList lists[GROUP_KINDS];
};
Group *gpu_group(Gpu *gpu);

/* Executes the call now; or, if a group is open, later with the other calls of its kind. */
void group_add(Device *dev, GroupKind kind, GroupRun run, const Update &update);
/* The backend's device_group_begin and device_group_end. */
void group_set(Device *dev, bool open);
