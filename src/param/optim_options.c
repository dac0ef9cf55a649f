/* optim_options.c: the options optim.*. */
#include "param/optim.h"
#include "param/schedule.h"

static const char *const optim_names[] = {
    [OPTIM_ADAMW] = "adamw", [OPTIM_ADAFACTOR] = "adafactor", [OPTIM_ADAMW_RMS] = "adamw_rms", NULL
};
static const char *const decay_names[] = { [DECAY_MATRICES] = "matrices", [DECAY_ALL] = "all", NULL };

#define AT(field) offsetof(OptimConfig, field)

const OptionRow optim_options[] = {
    { "optim.name", OPT_ENUM, AT(name), "adafactor", 0, 0, OPT_IDENTITY,
      "optimizer; adamw_rms scales AdamW's steps by the size of each weight tensor", optim_names },
    { "optim.lr", OPT_F64, AT(lr), "1e-2", 0, 10, OPT_TUNABLE,
      "peak learning rate; relative to the size of each weight tensor under scale_parameter and adamw_rms", NULL },
    { "optim.min_lr", OPT_F64, AT(min_lr), "0", 0, 10, OPT_TUNABLE, "learning rate at the end of the schedule", NULL },
    { "optim.schedule", OPT_ENUM, AT(schedule), "inverse_sqrt", 0, 0, OPT_TUNABLE,
      "course of the learning rate after the warm-up", schedule_names },
    { "optim.warmup", OPT_AMOUNT, AT(warmup), "10k steps", 0, 1e15, OPT_TUNABLE,
      "the learning rate rises from 0 to its peak over this amount; 6%: of train.length", NULL },
    { "optim.power", OPT_F64, AT(power), "1", 0, 100, OPT_TUNABLE, "exponent of the polynomial schedule", NULL },
    { "optim.clip_norm", OPT_F64, AT(clip_norm), "1", 0, 1e9, OPT_TUNABLE,
      "gradients with a larger global norm are scaled down to it; 0 switches it off", NULL },
    { "optim.weight_decay", OPT_F64, AT(weight_decay), "0", 0, 10, OPT_TUNABLE,
      "decoupled weight decay, times the learning rate", NULL },
    { "optim.decay", OPT_ENUM, AT(decay), "matrices", 0, 0, OPT_TUNABLE, "which parameters decay", decay_names },
    { "optim.beta1", OPT_F64, AT(beta1), "-1", -1, 0.999999, OPT_IDENTITY,
      "decay of the first moment; -1 is the optimizer's own: 0.9, none for adafactor", NULL },
    { "optim.beta2", OPT_F64, AT(beta2), "-1", -1, 0.9999999, OPT_TUNABLE,
      "adamw: decay of the second moment; -1 is 0.999", NULL },
    { "optim.eps", OPT_F64, AT(eps), "-1", -1, 1, OPT_TUNABLE,
      "adamw: added to the root of the second moment; -1 is 1e-8, 1e-6 for adamw_rms", NULL },
    { "optim.eps1", OPT_F64, AT(eps1), "1e-30", 1e-37, 1, OPT_TUNABLE, "adafactor: added to squared gradients", NULL },
    { "optim.eps2", OPT_F64, AT(eps2), "1e-3", 0, 1, OPT_TUNABLE,
      "adafactor: the least size of a weight tensor under scale_parameter", NULL },
    { "optim.clip_threshold", OPT_F64, AT(clip_threshold), "1", 0, 1e9, OPT_TUNABLE,
      "adafactor: updates of a tensor with a larger root mean square are scaled down to it; 0 switches it off", NULL },
    { "optim.decay_rate", OPT_F64, AT(decay_rate), "0.8", 0, 10, OPT_TUNABLE,
      "adafactor: second moments decay by 1 - t^-decay_rate", NULL },
    { "optim.step_offset", OPT_I64, AT(step_offset), "0", 0, 1e12, OPT_TUNABLE,
      "adafactor: updates done before this run, added to t", NULL },
    { "optim.factored", OPT_BOOL, AT(factored), "true", 0, 0, OPT_IDENTITY,
      "adafactor: keep row and column sums of a matrix's second moments instead of all of them", NULL },
    { "optim.min_dim_factored", OPT_I64, AT(min_dim_factored), "128", 0, 1e9, OPT_IDENTITY,
      "adafactor: matrices with a side below this are not factored; 0 factors all, as Hugging Face does", NULL },
    { "optim.scale_parameter", OPT_BOOL, AT(scale_parameter), "true", 0, 0, OPT_TUNABLE,
      "adafactor: the learning rate is relative to the root mean square of each weight tensor", NULL },
    { "optim.relative_step", OPT_BOOL, AT(relative_step), "false", 0, 0, OPT_TUNABLE,
      "adafactor: the learning rate is min(1e-2, 1/sqrt(t)) instead of the schedule's", NULL },
    { "optim.warmup_init", OPT_BOOL, AT(warmup_init), "false", 0, 0, OPT_TUNABLE,
      "adafactor: under relative_step, min(1e-6 t, 1/sqrt(t))", NULL },
    { "optim.decay_by_lr", OPT_BOOL, AT(decay_by_lr), "true", 0, 0, OPT_TUNABLE,
      "adafactor: weight decay is times the learning rate; false: it is not, as in T5X", NULL },
};
const int n_optim_options = G_N_ELEMENTS(optim_options);
