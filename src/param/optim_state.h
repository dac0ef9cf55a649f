/* optim_state.h: the private fields of Optimizer, and how an optimizer is defined, for the files of this folder. */
#pragma once

#include "param/optim.h"
#include "param/store.h"

/* Sums over whole tensors (f64): one operation of an update computes them, a later operation reads them. SumsFn
 * (optim.h) reduces them over ranks in between. */
typedef enum SumsKind {
    SUMS_MOMENTS, /* adamw_rms: (1), Σ w². Adafactor: (2 + C), Σ w², the sum of the row moments, and Σ g² of each of C
                     columns; of a parameter without factored moments (2), of which the second is unused */
    SUMS_SIZE, /* Adafactor: (1), Σ u² of the update u */
    SUMS_KINDS
} SumsKind;

enum { MAX_STATES = 4, MAX_PHASES = 4 };

typedef struct Method Method;

/* The optimizer state of one parameter that is not frozen. */
typedef struct State {
    Param *param;
    const Method *method; /* that updates the parameter */
    int64_t first; /* number of elements that this rank updates in the parameters before it in the bucket (see Range) */
    Tensor w;      /* weights that the update changes: the masters, or with offload their copy on the device */
    Tensor kept[MAX_STATES]; /* Method.states; NO_TENSOR for a state that this parameter does not have */
    Tensor sums[SUMS_KINDS];
} State;

/* The rows, or elements, of one parameter that lie in one range of its bucket. w: master weights; rounded: the weights
 * that layers compute with, NO_TENSOR if the masters are these; g: gradients; kept: as in State. */
typedef struct Part {
    Tensor w, rounded, g, kept[MAX_STATES];
} Part;

/* The shape of a state: that of the rows of the parameter that this rank updates (Param.own), one number for each of
 * these rows, or one number for each column. The columns' numbers are over all rows; every rank has them. */
typedef enum StateShape { STATE_WHOLE, STATE_ROWS, STATE_COLS } StateShape;

/* A tensor of numbers that an optimizer keeps for a parameter from update to update. */
typedef struct StateDef {
    const char *name; /* in checkpoints, after the name of the parameter: "m" in "encoder.3.self.q/m" */
    StateShape shape;
    bool (*kept)(const OptimConfig *config, const ParamSpec *spec); /* whether a parameter has it; NULL: all have */
} StateDef;

/* One operation of an update. */
typedef struct Phase {
    void (*run)(const Optimizer *opt, const State *state, const Part *part);
    bool once;  /* runs a single time per parameter; false means once for every Part */
    bool chain; /* several operations of the device that depend on each other, so that no group may hold them */
    bool sums;  /* the operation adds to the sums of `kind` */
    SumsKind kind;
    void (*join)(const Optimizer *opt, const State *state); /* adds up these sums over the tensor-parallel ranks that
                                                               divide the parameter; NULL means a plain sum */
} Phase;

/* How a parameter is updated. */
struct Method {
    StateDef states[MAX_STATES];                        /* an entry with name NULL ends the list */
    int64_t (*sums)(const State *state, SumsKind kind); /* length of State.sums[kind]; 0 or NULL: none */
    void (*scratch)(const Optimizer *opt, const State *state, Arena *arena); /* allocates what operations on a parameter
                                                                                write besides states; NULL: nothing */
    Unit unit;                /* ranges of an update begin and end between two units */
    Phase phases[MAX_PHASES]; /* in their order; an entry with run NULL ends the list */
};

/* An optimizer: an entry of OPTIMIZERS (optim.h), whose file defines NAME_optimizer. */
typedef struct OptimizerDef {
    const Method *methods[PARAM_KINDS];
    double beta1, beta2, eps; /* what -1 means for the options of these names */
} OptimizerDef;
#define EVERY_KIND(method)                                                                                             \
    {                                                                                                                  \
        [PARAM_MATRIX] = (method), [PARAM_EMBEDDING] = (method), [PARAM_HEAD] = (method), [PARAM_VECTOR] = (method)    \
    }
#define OPTIM_EXTERN(name, file) extern const OptimizerDef file##_optimizer;
OPTIMIZERS(OPTIM_EXTERN)
#undef OPTIM_EXTERN

/* A state tensor by the name that checkpoints give it. */
typedef struct NamedTensor {
    char *name; /* "encoder.3.self.q.w/row" */
    Tensor tensor;
    int64_t rows, cols; /* shape of the whole tensor, over all ranks; cols 0 means a vector */
    Box held;           /* the box of the whole tensor that `tensor` is */
    Box part; /* the box that this rank saves: the whole tensor with one rank, nothing if another rank saves it */
} NamedTensor;

typedef struct OptimBucket {
    State *states;
    int n_states;
    bool rests;              /* optimizer_rest */
    Tensor sums[SUMS_KINDS]; /* the sums of all its states in one vector, or NO_TENSOR */
    GArray *ranges;          /* array of Range; NULL means that all its elements are updated */
    char *stage, *host; /* with offload: memory of `bytes` each for its states. host: host memory, which keeps them;
                           stage: device memory, used during the update, followed by a copy of the masters */
    size_t bytes;
} OptimBucket;

/* Buckets whose states are on the device at once with offload: one is updated while the next is copied. */
enum { STAGES = 2 };

struct Optimizer {
    ParamStore *store;
    OptimConfig config; /* -1 is replaced by the optimizer's own default */
    State *states;      /* states of all trained parameters, ordered by bucket */
    int n_states;
    OptimBucket *buckets;
    GArray *named;               /* NamedTensor */
    void *memory;                /* device memory of the states; NULL with offload */
    void *stages[STAGES], *host; /* with offload: memory that OptimBucket.stage and OptimBucket.host point into */
    size_t stage_bytes;          /* total size of all stages */
    void *sums;           /* device memory of OptimBucket.sums, shared by all buckets, which are updated in turn */
    StepScalars now;      /* numbers that change with every update, such as the learning rate */
    StepScalars *scalars; /* their copy in device memory */
    void *scratch;        /* device memory of Method.scratch, shared by all parameters; NULL means none */
    size_t scratch_bytes;
    SumsFn reduce; /* reduces the sums over ranks; NULL means one rank */
    void *reduce_context;
};

/* optim_methods.c: all optimizers, and what the files of several use. */
extern const OptimizerDef *const optimizers[];                              /* indexed by OptimKind */
void optim_lay_out_state(const Optimizer *opt, State *state, Arena *arena); /* allocates the states of a parameter */
double optim_decay(const Optimizer *opt, const Param *param);               /* the weight decay of a parameter */
/* The factor on the learning rate of a parameter. relative: steps are multiplied by the RMS of its weights. */
double optim_rate(const State *state, bool relative);
Tensor optim_squares(const State *state); /* (1) f64: the first of the sums of SUMS_MOMENTS, Σ w² */
void optim_add_squares(const Optimizer *opt, const State *state, const Part *part); /* adds to optim_squares */

extern const Method adamw_method; /* optim_adamw.c */

/* Updates all parameters of a bucket; the caller has set opt->scalars. */
void optimizer_update_bucket(const Optimizer *opt, const OptimBucket *bucket);

/* optim_offload.c: states in host memory. */
bool offload_open(Optimizer *opt); /* allocates memory and lays out the states in it; false means out of memory */
void offload_close(Optimizer *opt);
void offload_update(const Optimizer *opt); /* updates all buckets, copying their states to the device and back */
Tensor offload_host(const OptimBucket *bucket, Tensor state); /* the host memory of a state tensor of the bucket */
