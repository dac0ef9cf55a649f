/* ops.h: the operations that models are made of. op_NAME(dev, outputs, inputs, options) checks shapes, dtypes and
 * shared memory (a mismatch is a bug of the caller: CHECK) and calls the device's kernel, which checks nothing again.
 * op_list.inc says what each operation computes. No GLib here. */
#pragma once

#include "base/philox.h"
#include "device/attn_spec.h"

typedef struct Device Device;

/* Dropout of each element of (N,C), or of each attention probability. The mask is a function of (key, sample, position,
 * channel), or (key, sample, head, position of the query, key): see base/philox.h. The arrays lie in memory of the
 * device. */
typedef struct Dropout {
    PhiloxKey key;
    float rate;              /* in [0, 1); 0 means none, and nothing else here is read */
    const int64_t *sample;   /* (N) global sample index of each token */
    const int32_t *position; /* (N) dropout_position of each token: its position in the sample */
    int64_t first_channel;   /* number of channel 0 in the whole tensor, a multiple of 4; above 0 where only a part of a
                                tensor's channels is computed */
} Dropout;

/* Every activation function: the enum, the names and the loops of kernels follow from this list. */
#define ACTIVATIONS(X)                                                                                                 \
    X(RELU, "relu")                                                                                                    \
    X(GELU_TANH, "gelu_tanh")                                                                                          \
    X(GELU_ERF, "gelu_erf")                                                                                            \
    X(SILU, "silu")                                                                                                    \
    X(TANH, "tanh")

#define ACTIVATION_CONSTANT(name, text) ACT_##name,
#define ACTIVATION_TEXT(name, text)     text,
typedef enum Activation { ACTIVATIONS(ACTIVATION_CONSTANT) ACT_COUNT } Activation;

/* Cross-entropy. */
typedef struct XentSpec {
    float label_smoothing, z_loss;
    float scale; /* factor on the gradient: 1 / number of target tokens of the whole batch */
    bool grad;   /* logits are replaced by their gradient; else they stay, and only the statistics are written */
} XentSpec;
/* Columns of `stats` of op_xent, each multiplied by the weight of its row. */
enum {
    XENT_LOSS,    /* cross-entropy with label smoothing and z-loss */
    XENT_NLL,     /* negative log-likelihood of the target */
    XENT_CORRECT, /* 1 where the target has the largest logit */
    XENT_WEIGHT,  /* 1, so that the column holds the weights */
    XENT_STATS    /* the number of columns */
};

/* The numbers of an optimizer that change from step to step; in memory of the device, so that an update is the same
 * sequence of calls in every step. */
typedef struct StepScalars {
    float lr;                /* of this update, schedule included */
    float clip;              /* factor on every gradient: that of clipping, divided by the loss scale */
    double beta1_t, beta2_t; /* AdamW: β1ᵗ and β2ᵗ of AdamwSpec, t = 1, 2, … the number of this update */
    double new_part; /* Adafactor: 1 − β2 of this update, (t + step_offset)^−decay_rate; 0.8 and 0 in the paper */
} StepScalars;

typedef struct AdamwSpec {
    double beta1, beta2, eps, weight_decay;
    /* AdamW with RMS scaling (nanoT5's AdamWScale): step × max(1e-3, rms(w)), and eps joins √v before its bias is
     * corrected: w -= lr·max(1e-3, rms(w))·√(1−β2ᵗ)/(1−β1ᵗ) · m/(√v + eps). */
    bool scale_by_rms;
    int64_t count; /* elements of the whole tensor, for rms(w) */
} AdamwSpec;

typedef struct AdafactorSpec {
    double eps1, eps2;     /* 1e-30, 1e-3 */
    double clip_threshold; /* 1.0; 0 means no clipping */
    double beta1;          /* 0 means no momentum */
    double weight_decay;   /* 0 for parameters without weight decay */
    int64_t rows, cols;    /* of the whole tensor; a vector has 1 row */
    bool scale_parameter;  /* α = lr × max(eps2, rms(w)) */
    bool decay_by_lr;      /* w *= 1 - weight_decay × α (Hugging Face); false: w *= 1 - weight_decay (T5X) */
} AdafactorSpec;

/* Every operation, by op_list.inc: op_gemm(dev, y, a, b, ta, tb, alpha, beta), … */
#define OP(name, parameters, arguments, operands, rules, flops) void op_##name parameters;
#include "device/op_list.inc"
#undef OP
