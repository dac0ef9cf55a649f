/* ops.h: the operations that models are made of. op_NAME(dev, outputs, inputs, options) checks shapes, dtypes and
 * shared memory, then calls the device's kernel, which does not check them again. A wrong argument is a bug of the
 * caller (CHECK). op_list.inc says what each operation computes. No GLib here. */
#pragma once

#include "base/philox.h"
#include "device/attn_spec.h"

typedef struct Device Device;

/* Dropout of each element of (N,C), or of each attention probability. The mask is a function of (key, sample, position,
 * channel), for attention of (key, sample, head, position of the query, index of the attended key): see base/philox.h.
 * The arrays are in memory of the device. */
typedef struct Dropout {
    PhiloxKey key;
    float rate;              /* in [0, 1); 0 means no dropout, and the other fields are not read */
    const int64_t *sample;   /* (N) global sample index of each token */
    const int32_t *position; /* (N) dropout_position of each token: its position in the sample */
    int64_t first_channel; /* index of channel 0 within the whole tensor, a multiple of 4; it is not 0 if only a part of
                              the tensor's channels is computed */
} Dropout;

/* All activation functions: the enum, the names and the loops of kernels are generated from this list. RELU2 is the
 * square of RELU (So et al. 2021, Primer). */
#define ACTIVATIONS(X)                                                                                                 \
    X(RELU, "relu")                                                                                                    \
    X(GELU_TANH, "gelu_tanh")                                                                                          \
    X(GELU_ERF, "gelu_erf")                                                                                            \
    X(SILU, "silu")                                                                                                    \
    X(TANH, "tanh")                                                                                                    \
    X(RELU2, "relu2")

#define ACTIVATION_CONSTANT(name, text) ACT_##name,
#define ACTIVATION_TEXT(name, text)     text,
typedef enum Activation { ACTIVATIONS(ACTIVATION_CONSTANT) ACT_COUNT } Activation;

/* Options of cross-entropy (op_xent) over V classes, as torch.nn.CrossEntropyLoss defines it. */
typedef struct XentSpec {
    float label_smoothing; /* s: the target distribution is 1 − s + s/V at the target and s/V elsewhere; 0 means no
                              label smoothing */
    float z_loss;          /* z: z log²Z is added to the loss, where Z is the sum of exp(logit); 0 means no z-loss */
    float scale;           /* factor on the gradient: loss scale / ModelLoss.n_targets of the head */
    bool grad; /* true: logits are replaced by their gradient; false: logits are kept, and only the statistics are
                  written */
} XentSpec;
/* Columns of `parts` of op_xent_part: what a part of the classes contributes to the cross-entropy of a row. */
enum {
    XENT_PART_MAX,    /* the largest logit */
    XENT_PART_EXP,    /* Σ exp(logit − XENT_PART_MAX) */
    XENT_PART_SUM,    /* Σ logit */
    XENT_PART_TARGET, /* logit of the target; 0 if the target is in another part */
    XENT_PART_FIRST,  /* 1 if the target is in this part and is the first of its largest logits, otherwise 0 */
    XENT_PARTS        /* the number of columns */
};
/* Columns of `stats` of op_xent, each multiplied by the weight of its row. */
enum {
    XENT_LOSS,    /* cross-entropy with label smoothing and z-loss */
    XENT_NLL,     /* negative log-likelihood of the target */
    XENT_CORRECT, /* 1 if the target has the largest logit, otherwise 0 */
    XENT_WEIGHT,  /* 1: after the multiplication this column is the weight of the row */
    XENT_STATS    /* the number of columns */
};

/* The numbers of an optimizer that change with every update. They are in memory of the device, so that the arguments of
 * the operations are the same in every update. */
typedef struct StepScalars {
    float lr;                /* learning rate of this update, with schedule and warm-up */
    float clip;              /* factor on every gradient: clipping factor / loss scale */
    double beta1_t, beta2_t; /* AdamW: β1ᵗ and β2ᵗ of AdamwSpec, where t = 1, 2, … is the number of this update */
    double new_part; /* Adafactor: 1 − β2 of this update, which is (t + step_offset)^−decay_rate; the paper has
                        step_offset 0 and decay_rate 0.8 */
} StepScalars;

/* The numbers of AdamW that are the same in all updates. */
typedef struct AdamwSpec {
    double beta1, beta2, eps, weight_decay;
    double rate; /* factor on the step, not on the weight decay */
    /* AdamW with RMS scaling (nanoT5's AdamWScale): the step is multiplied by max(1e-3, rms(w)), and eps is added to √v
     * before the bias correction: w -= lr·max(1e-3, rms(w))·√(1−β2ᵗ)/(1−β1ᵗ) · m/(√v + eps). */
    bool scale_by_rms;
    int64_t count; /* number of elements of the whole tensor, for rms(w) */
} AdamwSpec;

/* The numbers of Adafactor that are the same in all updates. */
typedef struct AdafactorSpec {
    double eps1, eps2;     /* 1e-30 and 1e-3 in the paper: eps1 is added to g², eps2 is the smallest rms(w) that
                              scale_parameter uses */
    double clip_threshold; /* d of the paper, 1.0 there: largest rms of an update; 0 means no clipping */
    double beta1;          /* 0 means no momentum */
    double weight_decay;   /* 0 for parameters without weight decay */
    int64_t rows, cols;    /* rows of the whole tensor, and columns that its parts have; a vector has 1 row */
    int64_t count;         /* number of elements of the whole tensor, for rms(w) and rms(u) */
    bool scale_parameter;  /* the step size α is lr × max(eps2, rms(w)); false: α = lr */
    bool decay_by_lr;      /* w *= 1 - weight_decay × α (Hugging Face); false: w *= 1 - weight_decay (T5X) */
    double rate;           /* factor on the step, not on the weight decay */
} AdafactorSpec;

/* The names of all operations, for what needs no more of op_list.inc than that. */
/* clang-format off */
#define OPERATIONS(X)                                                                                                  \
    X(gemm) X(linear) X(fp8_cast) X(fp8_scale) X(fp8_update) X(fp8_linear)                                             \
    X(gather) X(scatter_add) X(scatter)                                                                                \
    X(norm_fwd) X(sum_norm_fwd) X(norm_bwd)                                                                            \
    X(bias_add) X(column_sums) X(add) X(scale) X(dropout_fwd) X(dropout_bwd) X(act_fwd) X(act_bwd)                     \
    X(relpos_fwd) X(relpos_bwd) X(alibi) X(sinusoid_table) X(rotary_table) X(rotary) X(attn_fwd) X(attn_bwd)           \
    X(xent) X(xent_part) X(xent_join) X(top) X(sum_rows) X(total_add) X(sumsq) X(fill) X(copy)                         \
    X(adamw) X(adafactor_moments) X(adafactor_columns) X(adafactor_size) X(adafactor)
/* clang-format on */

/* Declares every operation of op_list.inc: op_gemm(dev, y, a, b, ta, tb, alpha, beta), …, and its type Op_gemm, which
 * is the type of its kernels, too. */
#define OP(name, parameters, arguments, operands, rules, flops)                                                        \
    typedef void Op_##name parameters;                                                                                 \
    Op_##name op_##name;
#include "device/op_list.inc"
#undef OP
