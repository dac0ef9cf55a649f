/* optim_options.c: the table of the options optim.*. */
#include "param/optim.h"

#define OPTIM_NAME(name, file) #file,
static const char *const optim_names[] = { OPTIMIZERS(OPTIM_NAME) NULL };
static const char *const change_names[] = {
    [CHANGE_OVERRIDE] = "override", [CHANGE_KEEP] = "keep", [CHANGE_REFUSE] = "refuse", NULL
};
static const char *const decay_names[] = { [DECAY_MATRICES] = "matrices", [DECAY_ALL] = "all", NULL };

static const char *const muon_scale_names[] = {
    [MUON_ORIGINAL] = "original", [MUON_MATCH_RMS_ADAMW] = "match_rms_adamw", NULL
};

#define AT(field) offsetof(OptimConfig, field)

const OptionRow optim_options[] = {
    { "optim.name", OPT_ENUM, AT(name), "adafactor", 0, 0, OPT_IDENTITY, optim_names,
      "optimizer; adamw_rms: AdamW with updates scaled by the root mean square of each weight tensor; muon: Muon for "
      "the matrices of blocks, AdamW for embeddings, heads and vectors" },
    { "optim.lr", OPT_F64, AT(lr), "1e-2", 0, 10, OPT_LEARNING, NULL,
      "peak learning rate; with optim.scale_parameter or adamw_rms it is relative to the root mean square of each "
      "weight tensor" },
    { "optim.rewarm", OPT_F64, AT(rewarm), "1", 0, 1, OPT_LEARNING, NULL,
      "for training that starts from a trained model (train.init) without a task: the default of optim.lr is this "
      "share of the default for a new model of the family; 1 means the same" },
    { "optim.min_lr", OPT_F64, AT(min_lr), "0", 0, 10, OPT_LEARNING, NULL,
      "learning rate at the end of the schedule; inverse_sqrt and plateau: the lowest learning rate" },
    { "optim.schedule", OPT_ENUM, AT(schedule), "inverse_sqrt", 0, 0, OPT_LEARNING, schedule_names,
      "learning-rate schedule after the warm-up" },
    { "optim.warmup", OPT_AMOUNT, AT(warmup), "10k steps", 0, 1e15, OPT_LEARNING, NULL,
      "warm-up: the learning rate rises from optim.init_lr to its peak over this amount; 6% means 6% of train.length" },
    { "optim.init_lr", OPT_F64, AT(init_lr), "0", 0, 10, OPT_LEARNING, NULL,
      "learning rate at the start of the warm-up" },
    { "optim.decay_until", OPT_AMOUNT, AT(decay_until), "0 steps", 0, 1e18, OPT_LEARNING, NULL,
      "linear, cosine, polynomial and wsd schedules: where the rate reaches optim.min_lr, from the first step of the "
      "run; 0 means at train.length" },
    { "optim.decay_length", OPT_AMOUNT, AT(decay_length), "10%", 0, 1e18, OPT_LEARNING, NULL,
      "wsd schedule: length of its last phase, in which the rate falls from its peak to optim.min_lr" },
    { "optim.decay_curve", OPT_ENUM, AT(decay_curve), "minus_sqrt", 0, 0, OPT_LEARNING, decay_curve_names,
      "wsd schedule: how the rate falls in its last phase" },
    { "optim.cycle", OPT_AMOUNT, AT(cycle), "0 steps", 0, 1e18, OPT_LEARNING, NULL,
      "cosine schedule with restarts: length of the first period after the warm-up; 0 means no restarts" },
    { "optim.cycle_growth", OPT_F64, AT(cycle_growth), "1", 1, 1000, OPT_LEARNING, NULL,
      "cosine schedule with restarts: length of a period / length of the previous period" },
    { "optim.cycle_shrink", OPT_F64, AT(cycle_shrink), "1", 0.001, 1, OPT_LEARNING, NULL,
      "cosine schedule with restarts: largest learning rate of a period / that of the previous period" },
    { "optim.on_change", OPT_ENUM, AT(on_change), "override", 0, 0, OPT_FREE, change_names,
      "what a resumed run does if options of its learning rate or weight decay were changed. override: uses the new "
      "values; keep: uses the saved values; refuse: ends with an error" },
    { "optim.power", OPT_F64, AT(power), "1", 0, 100, OPT_LEARNING, NULL, "polynomial schedule: exponent" },
    { "optim.plateau_factor", OPT_F64, AT(plateau_factor), "0.5", 0.001, 1, OPT_LEARNING, NULL,
      "plateau schedule: each drop multiplies the learning rate by this factor" },
    { "optim.plateau_patience", OPT_I64, AT(plateau_patience), "1", 1, 1e6, OPT_LEARNING, NULL,
      "plateau schedule: number of evaluations in a row without a better value of train.best after which the learning "
      "rate drops" },
    { "optim.clip_norm", OPT_F64, AT(clip_norm), "1", 0, 1e9, OPT_LEARNING, NULL,
      "gradients with a larger global norm are scaled down to this norm; 0 means no clipping" },
    { "optim.weight_decay", OPT_F64, AT(weight_decay), "0", 0, 10, OPT_LEARNING, NULL,
      "decoupled weight decay, multiplied by the learning rate" },
    { "optim.weight_decay_ramp", OPT_ENUM, AT(weight_decay_ramp), "constant", 0, 0, OPT_LEARNING, decay_ramp_names,
      "how weight decay changes from optim.weight_decay_start to optim.weight_decay over train.length" },
    { "optim.weight_decay_start", OPT_F64, AT(weight_decay_start), "0", 0, 10, OPT_LEARNING, NULL,
      "weight decay at the start of a linear or cosine optim.weight_decay_ramp" },
    { "optim.decay", OPT_ENUM, AT(decay), "matrices", 0, 0, OPT_LEARNING, decay_names,
      "parameters that get weight decay. matrices: those of two dimensions, embeddings of tokens, positions and token "
      "types among them, not biases, gains of norms or T5's relative positions; all: all of them" },
    { "optim.beta1", OPT_F64, AT(beta1), "-1", -1, 0.999999, OPT_IDENTITY, NULL,
      "decay rate of the first moment; -1 means the optimizer's default: 0.9, with adafactor none" },
    { "optim.beta2", OPT_F64, AT(beta2), "-1", -1, 0.9999999, OPT_LEARNING, NULL,
      "adamw, muon's AdamW: decay rate of the second moment; -1 means 0.999" },
    { "optim.eps", OPT_F64, AT(eps), "-1", -1, 1, OPT_LEARNING, NULL,
      "adamw, muon's AdamW: added to the root of the second moment; -1 means 1e-8, for adamw_rms 1e-6" },
    { "optim.eps1", OPT_F64, AT(eps1), "1e-30", 1e-37, 1, OPT_LEARNING, NULL, "adafactor: added to squared gradients" },
    { "optim.eps2", OPT_F64, AT(eps2), "1e-3", 0, 1, OPT_LEARNING, NULL,
      "adafactor: lower limit of a weight tensor's root mean square with scale_parameter" },
    { "optim.clip_threshold", OPT_F64, AT(clip_threshold), "1", 0, 1e9, OPT_LEARNING, NULL,
      "adafactor: updates of a tensor with a larger root mean square are scaled down to this one; 0 means no "
      "clipping" },
    { "optim.decay_rate", OPT_F64, AT(decay_rate), "0.8", 0, 10, OPT_LEARNING, NULL,
      "adafactor: the decay rate of second moments at update t is 1 - t^-decay_rate" },
    { "optim.step_offset", OPT_I64, AT(step_offset), "0", 0, 1e12, OPT_LEARNING, NULL,
      "adafactor: added to t, the number of updates" },
    { "optim.factored", OPT_BOOL, AT(factored), "true", 0, 0, OPT_IDENTITY, NULL,
      "adafactor: second moments of a matrix are kept as row and column sums" },
    { "optim.min_dim_factored", OPT_I64, AT(min_dim_factored), "128", 0, 1e9, OPT_IDENTITY, NULL,
      "adafactor: matrices with a dimension smaller than this are not factored; 0 means that all are, as in Hugging "
      "Face" },
    { "optim.scale_parameter", OPT_BOOL, AT(scale_parameter), "true", 0, 0, OPT_LEARNING, NULL,
      "adafactor: the learning rate is multiplied by the root mean square of each weight tensor" },
    { "optim.relative_step", OPT_BOOL, AT(relative_step), "false", 0, 0, OPT_LEARNING, NULL,
      "adafactor: learning rate min(1e-2, 1/sqrt(t)) instead of the schedule" },
    { "optim.warmup_init", OPT_BOOL, AT(warmup_init), "false", 0, 0, OPT_LEARNING, NULL,
      "adafactor: with relative_step, learning rate min(1e-6 t, 1/sqrt(t))" },
    { "optim.offload", OPT_BOOL, AT(offload), "false", 0, 0, OPT_TUNABLE, NULL,
      "on a GPU: optimizer state, and master weights of bf16, fp16 and fp8, are kept in host memory and copied to the "
      "GPU for their update, block by block" },
    { "optim.decay_by_lr", OPT_BOOL, AT(decay_by_lr), "true", 0, 0, OPT_LEARNING, NULL,
      "adafactor: weight decay is multiplied by the learning rate; false means that it is not, as in T5X" },
    { "optim.momentum", OPT_F64, AT(momentum), "0.95", 0, 0.999999, OPT_IDENTITY, NULL,
      "muon: decay rate of the momentum of the matrices of blocks" },
    { "optim.muon_scale", OPT_ENUM, AT(muon_scale), "match_rms_adamw", 0, 0, OPT_LEARNING, muon_scale_names,
      "muon: factor on the learning rate of a matrix of A rows and B columns. match_rms_adamw: 0.2 sqrt(max(A, B)), "
      "with which updates are about as large as those of AdamW; original: sqrt(max(1, A / B))" },
    { "optim.matrix_lr", OPT_F64, AT(matrix_lr), "1", 0, 1000, OPT_LEARNING, NULL,
      "muon: the matrices of blocks have this many times the learning rate of AdamW's parameters, before "
      "optim.muon_scale" },
};
const int n_optim_options = G_N_ELEMENTS(optim_options);
