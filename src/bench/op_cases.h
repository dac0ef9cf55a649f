/* op_cases.h: the operations of a training step, each at the sizes of a configuration, for `loam bench ops`. */
#pragma once

#include "device/gemm_peak.h"
#include "model/config/config.h"

#define OP_TURN_SECONDS 0.02 /* length of one turn of an operation, and of one turn of matrix products */

/* The sizes that determine the operations of a microbatch. */
typedef struct OpSizes {
    const ModelConfig *model;
    int64_t samples;
    int32_t enc, dec;   /* tokens per sample in encoder and decoder; 0 means that the model does not have this stack */
    int64_t logit_rows; /* tokens whose logits are computed at a time */
} OpSizes;

/* One operation on one device: the null device counts its bytes and FLOPs; on any other device it is timed. See
 * op_rig_again. */
typedef struct OpRig {
    const struct OpCase *of;
    OpSizes sizes;
    Device *dev;
    Arena arena;
    char shape[64]; /* "4096 x 384 x 512" */

    double seconds;     /* length of the whole measurement */
    int64_t runs;       /* runs finished in this turn; -1 means that the turn's first, uncounted run has not finished */
    int queued;         /* runs of this turn that are queued before the next wait */
    double end;         /* time at which the measurement ends; 0 means that it has not begun */
    double turn_start;  /* time at which the turn's first run ended */
    GArray *turns;      /* double: mean seconds per run, one number per turn */
    GemmPeak gemm_peak; /* one sample per turn */
} OpRig;

typedef struct OpCase {
    const char *name;
    void (*run)(
        OpRig *r); /* allocates tensors from the arena and repeats the operation while op_rig_again returns true */
    int setup; /* parameter of `run`. Linear layers: which layer, and forward, dx or dw; attention: encoder, decoder or
                  cross */
    bool is_backward;
    float dropout; /* dropout rate */
} OpCase;

extern const OpCase op_cases[];
extern const int n_op_cases;

/* Whether the model has the operation; for example, BERT has no cross-attention. */
bool op_case_applies(const OpCase *of, const OpSizes *sizes);

/* Condition of the loop around an operation. On the null device the loop runs once. On any other device, after one run
 * that is not counted, the operation is repeated for a turn of about 20 ms; then matrix products are timed for a turn
 * (gemm_peak.h); and so on until `seconds` have passed. The first run of a turn is waited for; the others are queued
 * behind each other, as many as fit in the turn, so that a GPU does not wait for the host between them. */
bool op_rig_again(OpRig *r);
