/* optim_state.h: the inside of Optimizer, for the files of this folder. */
#pragma once

#include "param/optim.h"
#include "param/store.h"

/* Sums over whole tensors (f64) that the operations of an update pass on, by the operation that adds to them. Ranks
 * that each hold a range of a bucket add theirs up in between. */
typedef enum SumsKind {
    SUMS_MOMENTS, /* of a parameter (2 + C): Σ w², Σ of its row moments, Σ g² of each column */
    SUMS_SIZE,    /* (1): Σ u² of the update u */
    SUMS_KINDS
} SumsKind;

/* One parameter that is not frozen; a tensor that its optimizer does not keep is NO_TENSOR. */
typedef struct State {
    Param *param;
    int64_t first; /* its first element among those of its bucket */
    Tensor m, v, row, col;
    Tensor sums[SUMS_KINDS];
} State;

/* The rows, or elements, of a parameter that lie in a range of its bucket. */
typedef struct Part {
    Tensor w, g, m, v, row;
} Part;

/* One operation of an update: on every part, or `once` a parameter, whatever the ranges. */
typedef struct Phase {
    void (*run)(const Optimizer *opt, const State *state, const Part *part);
    bool once;
    bool sums; /* it adds to the sums of `kind` */
    SumsKind kind;
} Phase;

/* An optimizer: an entry of a table by OptimKind. */
typedef struct Method {
    void (*state)(const OptimConfig *config, DType dtype, State *state, Arena *arena); /* pushes its moments */
    int64_t (*sums)(const State *state, SumsKind kind);                                /* their length, 0 for none */
    bool by_rows;    /* ranges are cut between rows of matrices, else between any two elements */
    Phase phases[5]; /* run NULL ends them */
    double beta1, beta2, eps;
} Method;
extern const Method optim_methods[];

typedef struct NamedTensor {
    char *name; /* "encoder.3.self.q.w/row" */
    Tensor tensor;
} NamedTensor;

typedef struct OptimBucket {
    State *states;
    int n_states;
    Tensor sums[SUMS_KINDS]; /* vectors of those of all its states, or NO_TENSOR */
    GArray *ranges;          /* of Range; NULL means one of all its elements */
} OptimBucket;

struct Optimizer {
    ParamStore *store;
    OptimConfig config; /* with the optimizer's own defaults in place of -1 */
    const Method *method;
    State *states; /* by rising bucket */
    int n_states;
    OptimBucket *buckets;
    GArray *named; /* NamedTensor */
    void *memory;  /* of the states; device memory, as are the next two */
    void *sums;    /* of one bucket after another */
    StepScalars *scalars;
    SumsFn reduce; /* or NULL */
    void *reduce_context;
};

/* The update of all parameters of a bucket; scalars are set. */
void optimizer_update_bucket(const Optimizer *opt, const OptimBucket *bucket);
