#include "param/loss_scale.h"

#include "base/error.h"

#include <math.h>

#define FACTOR 2 /* factor by which the loss scale rises or falls */

/* Megatron-LM's DynamicGradScaler: an overflow or doubling starts a window; only a doubling restores the hysteresis. */
static bool update_megatron(LossScale *state, const LossScaleConfig *config, bool overflow)
{
    if (overflow) {
        state->steps = 0;
        state->hysteresis -= state->hysteresis > 0;
        if (state->hysteresis == 0)
            state->scale = fmax(state->scale / FACTOR, config->min);
        return true;
    }
    state->steps++;
    if (state->steps < config->window)
        return true;
    state->steps = 0;
    state->hysteresis = config->hysteresis;
    state->scale *= FACTOR;
    return true;
}

/* Whether a whole number of windows has passed since the last overflow. */
static bool window_full(const LossScale *state, const LossScaleConfig *config)
{
    return (state->steps - state->last_overflow) % config->window == 0;
}

/* DeepSpeed's DynamicLossScaler: an overflow at the smallest scale ends the run. */
static bool update_deepspeed(LossScale *state, const LossScaleConfig *config, bool overflow)
{
    bool lowered = overflow && state->hysteresis <= 1, stuck = lowered && state->scale <= config->min;
    if (lowered) {
        state->scale = fmax(state->scale / FACTOR, config->min);
    } else if (overflow) {
        state->hysteresis--;
    } else if (window_full(state, config)) {
        state->hysteresis = config->hysteresis;
        state->scale *= FACTOR;
    }
    if (overflow)
        state->last_overflow = state->steps;
    state->steps++;
    return !stuck;
}

/* fairseq's DynamicLossScaler: the run ends when the scale falls to the smallest value. At the threshold the scale
 * stays, and every overflow counts as a change. */
static bool update_fairseq(LossScale *state, const LossScaleConfig *config, bool overflow)
{
    bool falls = false;
    if (overflow) {
        state->last_overflow = state->steps;
        state->overflows++;
        falls = (double)state->overflows >= config->tolerance * (double)(state->steps - state->last_change);
    }
    double lower = fmax(state->scale / FACTOR, config->threshold);
    bool stuck = falls && lower <= config->min, rises = !overflow && window_full(state, config);
    if (falls)
        state->overflows = 0;
    if (falls || rises)
        state->last_change = state->steps;
    if (!stuck && (falls || rises))
        state->scale = rises ? state->scale * FACTOR : lower;
    state->steps++;
    return !stuck;
}

/* One kind of loss scaler: name, published defaults, and the function that implements its rule. */
typedef struct Scaler {
    double initial, min;
    int64_t window, hysteresis;
    bool divides_window; /* the window is divided by the number of microbatches per step */
    bool (*update)(LossScale *state, const LossScaleConfig *config, bool overflow);
} Scaler;

static const Scaler scalers[] = {
    [SCALER_MEGATRON] = { 0x1p32, 1, 1000, 2, false, update_megatron },
    [SCALER_DEEPSPEED] = { 0x1p16, 1, 1000, 2, false, update_deepspeed },
    [SCALER_FAIRSEQ] = { 0x1p7, 1e-4, 1 << 14, 1, true, update_fairseq },
};
static const char *const scaler_names[] = {
    [SCALER_MEGATRON] = "megatron", [SCALER_DEEPSPEED] = "deepspeed", [SCALER_FAIRSEQ] = "fairseq", NULL
};

#define ROW(field) offsetof(LossScaleConfig, field)
const OptionRow loss_scale_options[] = {
    { "fp16.scaler", OPT_ENUM, ROW(scaler), "megatron", 0, 0, OPT_LEARNING, scaler_names,
      "train.precision=fp16: the program whose rules raise and lower the loss scale" },
    { "fp16.loss_scale", OPT_F64, ROW(fixed), "0", 0, 0x1p60, OPT_LEARNING, NULL,
      "loss scale that never changes; 0 means that overflows of gradients change it" },
    { "fp16.initial_scale", OPT_F64, ROW(initial), "auto", 0, 0x1p60, OPT_LEARNING, NULL,
      "first loss scale; auto means 2^32 for megatron, 2^16 for deepspeed, 2^7 for fairseq" },
    { "fp16.min_scale", OPT_F64, ROW(min), "auto", 0, 0x1p60, OPT_LEARNING, NULL,
      "smallest loss scale; auto means 1, for fairseq 1e-4. With deepspeed an overflow at this scale ends the run, "
      "with fairseq one that would lower the scale to it" },
    { "fp16.threshold", OPT_F64, ROW(threshold), "0", 0, 0x1p60, OPT_LEARNING, NULL,
      "fairseq: overflows lower the loss scale to no less than this (--threshold-loss-scale); 0 means no such bound" },
    { "fp16.window", OPT_I64, ROW(window), "auto", 0, 1e15, OPT_LEARNING, NULL,
      "steps without overflow after which the loss scale is doubled; auto means 1000, for fairseq 2^14 / microbatches "
      "of a step" },
    { "fp16.hysteresis", OPT_I64, ROW(hysteresis), "auto", 0, 1e6, OPT_LEARNING, NULL,
      "megatron, deepspeed: overflows that are needed before the loss scale is halved; auto means 2" },
    { "fp16.tolerance", OPT_F64, ROW(tolerance), "0", 0, 1, OPT_LEARNING, NULL,
      "fairseq: an overflow halves the loss scale only if at least this share of the steps since the scale last "
      "changed overflowed; 0 means that every overflow halves it" },
};
#undef ROW
const int n_loss_scale_options = G_N_ELEMENTS(loss_scale_options);

bool loss_scale_resolve(LossScaleConfig *config, int64_t microbatches, GError **error)
{
    const Scaler *own = &scalers[config->scaler];
    int64_t window = own->divides_window ? MAX(own->window / microbatches, 1) : own->window;
    config->initial = config->initial > 0 ? config->initial : own->initial;
    config->min = config->min > 0 ? config->min : own->min;
    config->window = config->window > 0 ? config->window : window;
    config->hysteresis = config->hysteresis > 0 ? config->hysteresis : own->hysteresis;
    return config->initial >= config->min ||
           fail_user(error, "fp16.initial_scale %g is below fp16.min_scale %g", config->initial, config->min);
}

LossScale loss_scale_start(const LossScaleConfig *config)
{
    return (LossScale){ .scale = config->fixed > 0 ? config->fixed : config->initial,
                        .last_overflow = -1,
                        .last_change = -1,
                        .hysteresis = config->hysteresis };
}

bool loss_scale_is_smallest(const LossScale *state, const LossScaleConfig *config)
{
    double threshold = config->scaler == SCALER_FAIRSEQ ? config->threshold : 0;
    return config->fixed > 0 || state->scale <= fmax(config->min, threshold);
}

bool loss_scale_update(LossScale *state, const LossScaleConfig *config, bool overflow)
{
    return config->fixed > 0 || scalers[config->scaler].update(state, config, overflow);
}
