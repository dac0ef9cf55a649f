/* optim.h: optimizers over a ParamStore: AdamW (Loshchilov & Hutter 2019), Adafactor (Shazeer & Stern 2018), AdamW with
 * steps scaled by the RMS of each weight tensor (nanoT5's AdamWScale), and Muon (Jordan et al. 2024). */
#pragma once

#include "base/options/options.h"
#include "param/param.h"
#include "param/schedule.h"

/* All optimizers: the enum, their names and their definitions (optim_state.h) are generated from this list. */
#define OPTIMIZERS(X)                                                                                                  \
    X(ADAMW, adamw)                                                                                                    \
    X(ADAFACTOR, adafactor)                                                                                            \
    X(ADAMW_RMS, adamw_rms)                                                                                            \
    X(MUON, muon)

#define OPTIM_KIND(name, file) OPTIM_##name,
typedef enum OptimKind { OPTIMIZERS(OPTIM_KIND) OPTIM_KINDS } OptimKind;
#undef OPTIM_KIND
typedef enum DecayScope { DECAY_MATRICES, DECAY_ALL } DecayScope; /* which parameters get weight decay */

/* Muon: the factor on the learning rate of a matrix (A,B): sqrt(max(1, A / B)), or 0.2 sqrt(max(A, B)), with which its
 * updates are about as large as those of AdamW. */
typedef enum MuonScale { MUON_ORIGINAL, MUON_MATCH_RMS_ADAMW } MuonScale;

/* The choices for a resumed run whose schedule options were changed. */
typedef enum ScheduleChange { CHANGE_OVERRIDE, CHANGE_KEEP, CHANGE_REFUSE } ScheduleChange;

/* The options optim.*, in the words of their help (optim_options.c); those of the learning rate: see Schedule. */
typedef struct OptimConfig {
    int name; /* OptimKind */
    double lr, min_lr, init_lr;
    int schedule;
    Amount warmup, decay_until, decay_length, cycle;
    int decay_curve;
    double cycle_growth, cycle_shrink;
    int weight_decay_ramp;
    double weight_decay_start;
    int on_change; /* ScheduleChange */
    double rewarm, power, plateau_factor;
    int64_t plateau_patience;
    double clip_norm, weight_decay;
    int decay;                                     /* DecayScope */
    double beta1, beta2, eps;                      /* -1 means the optimizer's own default */
    double eps1, eps2, clip_threshold, decay_rate; /* to decay_by_lr: Adafactor, see AdafactorSpec (ops.h) */
    int64_t step_offset, min_dim_factored;
    bool scale_parameter, relative_step, warmup_init, factored, decay_by_lr;
    double momentum; /* to matrix_lr: Muon */
    int muon_scale;  /* MuonScale */
    double matrix_lr;
    bool offload; /* Precision.offload */
} OptimConfig;

extern const OptionRow optim_options[]; /* "optim.*" over OptimConfig */
extern const int n_optim_options;

typedef struct Optimizer Optimizer;
/* Allocates the optimizer's state. NULL with an error if options contradict each other, or if out of memory. */
Optimizer *optimizer_open(ParamStore *store, const OptimConfig *config, GError **error);
void optimizer_close(Optimizer *opt);
/* Sets the unit of each kind of parameter that the optimizer updates as a whole, for Sharding.units. */
void optimizer_units(const OptimConfig *config, Unit units[PARAM_KINDS]);
/* The weight decay of later updates, in place of the configured one. */
void optimizer_set_weight_decay(Optimizer *opt, double weight_decay);
/* Whether later updates leave the parameters of a bucket and their states as they are, without weight decay. */
void optimizer_rest(Optimizer *opt, int bucket, bool rests);
/* One update of every parameter that is neither frozen nor in a bucket that rests. update: number of this update,
 * from 1; lr: its learning rate. The gradients are divided by loss_scale, the factor that the loss was multiplied by (1
 * means none). norm: their global norm after that, for clipping. Returns the rate that was used: Adafactor's own with
 * optim.relative_step, else lr. */
double optimizer_step(Optimizer *opt, int64_t update, double lr, double norm, double loss_scale);

/* Elements [begin, end) of a bucket (param.h), counted over its trained parameters in order, without frozen ones. */
typedef struct Range {
    int64_t begin, end;
} Range;
/* Later updates change only these ranges of the bucket, in this order, without overlap. A unit of the optimizer, such
 * as a row, belongs to the range that has its first element. Without this call updates change the whole bucket. */
void optimizer_set_ranges(Optimizer *opt, int bucket, const Range *ranges, int n);
/* reduce(context, sums) is called between the operations of an update. `sums` (n, f64, device memory) are this rank's
 * sums over its ranges of a bucket: Σ w², Adafactor's row and column sums, Σ u². The function must replace them by the
 * sums over all ranks. reduce NULL means that this rank updates everything. */
typedef void (*SumsFn)(void *context, Tensor sums);
void optimizer_on_sums(Optimizer *opt, SumsFn reduce, void *context);

/* A tensor of the optimizer's state, named after its parameter: "NAME/m", "NAME/v". cols 0 means a vector of `rows`. */
typedef struct OptimState {
    const char *name;
    int64_t rows, cols;
} OptimState;
int optimizer_state_count(const Optimizer *opt); /* number of state tensors */
OptimState optimizer_state(const Optimizer *opt, int index);
/* This rank's part of a state (param/shard.h), possibly no rows. */
Box optimizer_part(const Optimizer *opt, int index);
Box optimizer_held(const Optimizer *opt, int index); /* the rows that optimizer_write keeps */
size_t optimizer_bytes(const Optimizer *opt);        /* size of all states; with ZeRO, of this rank's parts */
/* Bytes of the device that the optimizer holds: for states, which are fewer with optim.offload, and for what its
 * operations write until an update ends. */
size_t optimizer_device_bytes(const Optimizer *opt);
/* Copy a box of a state to or from host memory, as params_read and params_write do. With ZeRO only rows of this rank's
 * part can be read, and writing ignores rows that only other ranks hold. */
void optimizer_read(const Optimizer *opt, int index, const Box *box, DType dtype, void *host);
void optimizer_write(Optimizer *opt, int index, const Box *box, DType dtype, const void *host);
