/* optim.h: optimizers over a ParamStore: adamw, adafactor, adamw_rms. One row of a table each. */
#pragma once

#include "base/amount.h"
#include "base/options/options.h"
#include "param/param.h"

typedef enum OptimKind { OPTIM_ADAMW, OPTIM_ADAFACTOR, OPTIM_ADAMW_RMS } OptimKind;
typedef enum DecayScope { DECAY_MATRICES, DECAY_ALL } DecayScope;

typedef struct OptimConfig {
    int name; /* OptimKind */
    double lr, min_lr;
    int schedule; /* param/schedule.h */
    Amount warmup;
    double power;     /* polynomial */
    double clip_norm; /* 0: off */
    double weight_decay;
    int decay;                                     /* DecayScope */
    double beta1, beta2, eps;                      /* -1: the optimizer's own default */
    double eps1, eps2, clip_threshold, decay_rate; /* adafactor */
    int64_t step_offset, min_dim_factored;
    bool scale_parameter, relative_step, warmup_init, factored, decay_by_lr;
} OptimConfig;

extern const OptionRow optim_options[]; /* "optim.*" over OptimConfig */
extern const int n_optim_options;

typedef struct Optimizer Optimizer;
Optimizer *optimizer_open(ParamStore *store, const OptimConfig *config, GError **error);
void optimizer_close(Optimizer *opt);
/* One update, u = 1, 2, …, of every parameter. norm: of the gradients, for clipping. lr: of this update, from the
 * schedule (adafactor's relative_step overrides it). Returns the rate used. */
double optimizer_step(Optimizer *opt, int64_t update, double lr, double norm);

/* A tensor of the optimizer's state, by the name of its parameter: "NAME/m", "NAME/v", "NAME/row", "NAME/col". cols 0:
 * a vector of `rows`. */
typedef struct OptimState {
    const char *name;
    int64_t rows, cols;
} OptimState;
int optimizer_state_count(const Optimizer *opt);
OptimState optimizer_state(const Optimizer *opt, int index);
size_t optimizer_bytes(const Optimizer *opt); /* of all states */
/* As params_read and params_write. */
void optimizer_read(const Optimizer *opt, int index, const Box *box, DType dtype, void *host);
void optimizer_write(Optimizer *opt, int index, const Box *box, DType dtype, const void *host);
