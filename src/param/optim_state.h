/* optim_state.h: the inside of Optimizer, for the files of this folder. */
#pragma once

#include "param/optim.h"
#include "param/store.h"

/* Sums over whole tensors (f64), which one operation of an update adds up and a later one reads. SumsFn (optim.h)
 * reduces them over ranks in between. */
typedef enum SumsKind {
    SUMS_MOMENTS, /* (2 + C) of a parameter with C columns: Σ w², Σ of its row moments, Σ g² of each column */
    SUMS_SIZE,    /* (1): Σ u² of the update u */
    SUMS_KINDS
} SumsKind;

/* One parameter that is not frozen; a tensor that its optimizer does not keep is NO_TENSOR. */
typedef struct State {
    Param *param;
    int64_t first; /* its offset among the trained elements of its bucket (Range) */
    Tensor w;      /* weights that the update changes: the masters, or their copy on the device (optim_offload.c) */
    Tensor m, v, row, col;
    Tensor sums[SUMS_KINDS];
} State;

/* The rows, or elements, of a parameter that lie in a range of its bucket: master weights, the weights that layers
 * compute with (NO_TENSOR where they are the masters), gradients, moments. */
typedef struct Part {
    Tensor w, rounded, g, m, v, row;
} Part;

/* One operation of an update: run for every Part of a parameter, or with `once` one time for each parameter. */
typedef struct Phase {
    void (*run)(const Optimizer *opt, const State *state, const Part *part);
    bool once;
    bool sums; /* it adds to the sums of `kind` */
    SumsKind kind;
} Phase;

/* An optimizer: an entry of a table by OptimKind. */
typedef struct Method {
    void (*state)(const OptimConfig *config, DType dtype, State *state, Arena *arena); /* allocates moments */
    int64_t (*sums)(const State *state, SumsKind kind); /* length of State.sums[kind]; 0 means none */
    bool by_rows;    /* ranges are cut between rows of matrices, else between any two elements */
    Phase phases[5]; /* an entry with run NULL ends the list */
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
    Tensor sums[SUMS_KINDS]; /* the sums of all its states in one vector, or NO_TENSOR */
    GArray *ranges;          /* of Range; NULL means that all its elements are updated */
    char *stage, *host; /* with offload: memory of its states, of `bytes` bytes, on the device for the update (the copy
                           of the masters follows them) and on the host */
    size_t bytes;
} OptimBucket;

enum { STAGES = 2 };

struct Optimizer {
    ParamStore *store;
    OptimConfig config; /* with the optimizer's own defaults in place of -1 */
    const Method *method;
    State *states; /* of all trained parameters, ordered by bucket */
    int n_states;
    OptimBucket *buckets;
    GArray *named;               /* NamedTensor */
    void *memory;                /* device memory of the states; NULL with offload */
    void *stages[STAGES], *host; /* with offload: memory of OptimBucket.stage, and of OptimBucket.host */
    size_t stage_bytes;          /* of all stages */
    void *sums; /* device memory of OptimBucket.sums, shared by all buckets, which are updated in turn */
    StepScalars *scalars;
    SumsFn reduce; /* reduces the sums over ranks; NULL means one rank */
    void *reduce_context;
};

/* Updates all parameters of a bucket; the caller has set opt->scalars. */
void optimizer_update_bucket(const Optimizer *opt, const OptimBucket *bucket);

/* optim_offload.c: states in memory of the host. */
bool offload_open(Optimizer *opt); /* takes the memory and lays out the states; false means that there is not enough */
void offload_close(Optimizer *opt);
void offload_update(const Optimizer *opt); /* optimizer_update_bucket of all buckets, with the copies both ways */
Tensor offload_host(const OptimBucket *bucket, Tensor state); /* a state of the bucket as it lies on the host */
