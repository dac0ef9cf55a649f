/* ops.h: the operations that models are made of. op_NAME(dev, outputs, inputs, options) checks shapes, dtypes and
 * shared memory (a mismatch is a bug of the caller: CHECK) and calls the device's kernel, which checks nothing again.
 * op_list.inc says what each operation computes. No GLib here. */
#pragma once

#include "base/philox.h"
#include "device/attn_spec.h"

typedef struct Device Device;

/* Dropout of each element of (N,C), or of each attention probability. The mask is a function of (key, sample, position,
 * channel), or (key, sample, head, position of the query, key): see base/philox.h. The arrays are in memory of the
 * device. */
typedef struct Dropout {
    PhiloxKey key;
    float rate;              /* in [0, 1); 0 means no dropout: the other fields are not read */
    const int64_t *sample;   /* (N) global sample index of each token */
    const int32_t *position; /* (N) dropout_position of each token: its position in the sample */
    int64_t first_channel;   /* index of channel 0 within the whole tensor, a multiple of 4; not 0 if only a part of the
                                tensor's channels is computed */
} Dropout;

/* All activation functions: the enum, the names and the loops of kernels are generated from this list. */
#define ACTIVATIONS(X)                                                                                                 \
    X(RELU, "relu")                                                                                                    \
    X(GELU_TANH, "gelu_tanh")                                                                                          \
    X(GELU_ERF, "gelu_erf")                                                                                            \
    X(SILU, "silu")                                                                                                    \
    X(TANH, "tanh")

#define ACTIVATION_CONSTANT(name, text) ACT_##name,
#define ACTIVATION_TEXT(name, text)     text,
typedef enum Activation { ACTIVATIONS(ACTIVATION_CONSTANT) ACT_COUNT } Activation;

/* Options of cross-entropy (op_xent) over V classes, as torch.nn.CrossEntropyLoss defines it. */
typedef struct XentSpec {
    float label_smoothing; /* s: the target distribution is 1 − s + s/V at the target and s/V elsewhere; 0 means none */
    float z_loss;          /* z: adds z log²Z, Z the sum of exp(logit) */
    float scale;           /* factor on the gradient: 1 / number of target tokens of the whole batch */
    bool grad; /* true: logits are replaced by their gradient; false: logits are kept, and only the statistics are
                  written */
} XentSpec;
/* Columns of `stats` of op_xent, each multiplied by the weight of its row. */
enum {
    XENT_LOSS,    /* cross-entropy with label smoothing and z-loss */
    XENT_NLL,     /* negative log-likelihood of the target */
    XENT_CORRECT, /* 1 if the target has the largest logit, otherwise 0 */
    XENT_WEIGHT,  /* 1, so that this column is the weight of each row */
    XENT_STATS    /* the number of columns */
};

/* The numbers of an optimizer that change in every step. They are in memory of the device, so that the calls of an
 * update are the same in every step. */
typedef struct StepScalars {
    float lr;                /* learning rate of this update, with schedule and warm-up */
    float clip;              /* factor on every gradient: the clipping factor / the loss scale */
    double beta1_t, beta2_t; /* AdamW: β1ᵗ and β2ᵗ of AdamwSpec, where t = 1, 2, … is the number of this update */
    double new_part; /* Adafactor: 1 − β2 of this update, (t + step_offset)^−decay_rate; 0.8 and 0 in the paper */
} StepScalars;

typedef struct AdamwSpec {
    double beta1, beta2, eps, weight_decay;
    /* AdamW with RMS scaling (nanoT5's AdamWScale): step × max(1e-3, rms(w)), and eps joins √v before its bias is
     * corrected: w -= lr·max(1e-3, rms(w))·√(1−β2ᵗ)/(1−β1ᵗ) · m/(√v + eps). */
    bool scale_by_rms;
    int64_t count; /* number of elements of the whole tensor, for rms(w) */
} AdamwSpec;

typedef struct AdafactorSpec {
    double eps1, eps2;     /* 1e-30, 1e-3 */
    double clip_threshold; /* 1.0; 0 means no clipping */
    double beta1;          /* 0 means no momentum */
    double weight_decay;   /* 0 for parameters without weight decay */
    int64_t rows, cols;    /* shape of the whole tensor; a vector has 1 row */
    bool scale_parameter;  /* α = lr × max(eps2, rms(w)) */
    bool decay_by_lr;      /* w *= 1 - weight_decay × α (Hugging Face); false: w *= 1 - weight_decay (T5X) */
} AdafactorSpec;

/* Declares every operation of op_list.inc: op_gemm(dev, y, a, b, ta, tb, alpha, beta), … */
#define OP(name, parameters, arguments, operands, rules, flops) void op_##name parameters;
#include "device/op_list.inc"
#undef OP
