/* loss_scale.h: loss scaling for training in f16, whose smallest numbers are too large for many gradients. The loss is
 * multiplied by a scale before backward, the optimizer divides by it. A gradient that overflows (inf or NaN) skips the
 * update and lowers the scale; updates without overflow raise it: by the rules of Megatron-LM, DeepSpeed or fairseq. */
#pragma once

#include "base/options/options.h"

typedef enum LossScaler { SCALER_MEGATRON, SCALER_DEEPSPEED, SCALER_FAIRSEQ } LossScaler;

/* The options fp16.*, in the words of their help (loss_scale.c). */
typedef struct LossScaleConfig {
    int scaler; /* LossScaler */
    double fixed, initial, min, threshold;
    int64_t window, hysteresis;
    double tolerance;
} LossScaleConfig;

extern const OptionRow loss_scale_options[]; /* "fp16.*" over LossScaleConfig */
extern const int n_loss_scale_options;

/* The state that changes from step to step; checkpoints save it. */
typedef struct LossScale {
    double scale;          /* 0 means that loss_scale_start was not called */
    int64_t steps;         /* steps so far, with or without overflow; Megatron: since the last overflow or doubling */
    int64_t last_overflow; /* DeepSpeed, fairseq: number of the last step with overflow; -1 means none */
    int64_t last_change;   /* fairseq: number of the step at which the scale changed last; -1 means none */
    int64_t overflows;     /* fairseq: overflows since the scale changed last */
    int64_t hysteresis;    /* Megatron, DeepSpeed: overflows that are left before the scale is halved */
} LossScale;

/* Replaces zeros by the defaults of the scaler. microbatches: number of microbatches per step, by which fairseq's
 * default window is divided. It is an error if the first scale is below the smallest. */
bool loss_scale_resolve(LossScaleConfig *config, int64_t microbatches, GError **error);
/* The state before the first step. */
LossScale loss_scale_start(const LossScaleConfig *config);
/* Whether an overflow can no longer lower the scale: it is fixed, or the smallest that the configuration allows. */
bool loss_scale_is_smallest(const LossScale *state, const LossScaleConfig *config);
/* Called after each step; overflow means that its loss or a gradient was not finite. Returns false if the run must end,
 * and leaves the scale unchanged: with DeepSpeed after an overflow at the smallest scale, with fairseq if the scale
 * would fall to the smallest one. Megatron never ends a run. With fairseq, a threshold above the smallest value keeps
 * the run going. */
bool loss_scale_update(LossScale *state, const LossScaleConfig *config, bool overflow);
