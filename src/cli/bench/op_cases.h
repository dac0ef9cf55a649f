/* op_cases.h: the operations of a training step, each at the sizes of a configuration, for `loam bench ops`. */
#pragma once

#include "device/gemm_peak.h"
#include "model/config/config.h"

#define OP_TURN_SECONDS 0.02 /* of an operation, and then of matrix products */

/* Sizes of a microbatch. */
typedef struct OpSizes {
    const ModelConfig *model;
    int64_t samples;
    int32_t enc, dec;   /* tokens of a sample in each stack; 0 means that the model has no such stack */
    int64_t logit_rows; /* rows whose logits are computed at a time */
} OpSizes;

/* An operation on one device: the null device counts its bytes and FLOPs, the cpu is timed. op_rig_again says how. */
typedef struct OpRig {
    const struct OpCase *of;
    OpSizes sizes;
    Device *dev;
    Arena arena;
    char shape[64]; /* "4096 x 384 x 512" */

    double seconds;     /* to measure for */
    int64_t runs;       /* finished since the start of the turn; -1 means that the turn's first run is still to come */
    double end;         /* of the measurement; 0 means that it has not begun */
    double turn_start;  /* after the turn's first run */
    GArray *turns;      /* double: mean seconds of a run, one number a turn */
    GemmPeak gemm_peak; /* one sample a turn */
} OpRig;

typedef struct OpCase {
    const char *name;
    void (*run)(OpRig *r); /* takes tensors from the arena, and runs the operation while op_rig_again */
    int setup;             /* read by `run`: which product, which attention */
    bool is_backward;
    float dropout; /* rate */
} OpCase;

extern const OpCase op_cases[];
extern const int n_op_cases;

/* Whether the model has the operation: no cross-attention in BERT. */
bool op_case_applies(const OpCase *of, const OpSizes *sizes);

/* The loop around an operation: once on the null device. On the cpu the operation is repeated for a turn of some 20 ms,
 * after a run that is not counted; then the matrix-product benchmark has its turn; and so on until `seconds` have
 * passed. */
bool op_rig_again(OpRig *r);
