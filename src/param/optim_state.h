/* optim_state.h: the private fields of Optimizer, for the files of this folder. */
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

/* The optimizer state of one parameter that is not frozen. A tensor that the chosen optimizer does not keep is
 * NO_TENSOR. */
typedef struct State {
    Param *param;
    int64_t first; /* number of elements that this rank updates in the parameters before it in the bucket (see Range) */
    Tensor w;      /* weights that the update changes: the masters, or with offload their copy on the device */
    Tensor m, v, row; /* moments m and v, Adafactor's row moments: of the rows that this rank updates (Param.own) */
    Tensor col;       /* Adafactor's column moments, over all rows of the parameter; the same on every rank */
    Tensor sums[SUMS_KINDS];
} State;

/* The rows, or elements, of one parameter that lie in one range of its bucket. w: master weights; rounded: the weights
 * that layers compute with, NO_TENSOR if the masters are these; g: gradients; m, v, row: moments. */
typedef struct Part {
    Tensor w, rounded, g, m, v, row;
} Part;

/* One operation of an update. */
typedef struct Phase {
    void (*run)(const Optimizer *opt, const State *state, const Part *part);
    bool once; /* runs a single time per parameter; false means once for every Part */
    bool sums; /* the operation adds to the sums of `kind` */
    SumsKind kind;
} Phase;

/* One kind of optimizer: an entry of optim_methods, indexed by OptimKind. */
typedef struct Method {
    void (*state)(const OptimConfig *config, DType dtype, State *state, Arena *arena); /* allocates moments */
    int64_t (*sums)(const State *state, SumsKind kind); /* length of State.sums[kind]; 0 means none */
    bool by_rows;    /* a range begins and ends between rows of matrices; false means between any two elements */
    Phase phases[5]; /* an entry with run NULL ends the list */
    double beta1, beta2, eps;
} Method;
extern const Method optim_methods[];

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
    const Method *method;
    State *states; /* states of all trained parameters, ordered by bucket */
    int n_states;
    OptimBucket *buckets;
    GArray *named;               /* NamedTensor */
    void *memory;                /* device memory of the states; NULL with offload */
    void *stages[STAGES], *host; /* with offload: memory that OptimBucket.stage and OptimBucket.host point into */
    size_t stage_bytes;          /* total size of all stages */
    void *sums;           /* device memory of OptimBucket.sums, shared by all buckets, which are updated in turn */
    StepScalars *scalars; /* device memory: numbers that change with every update, such as the learning rate */
    SumsFn reduce;        /* reduces the sums over ranks; NULL means one rank */
    void *reduce_context;
};

/* Updates all parameters of a bucket; the caller has set opt->scalars. */
void optimizer_update_bucket(const Optimizer *opt, const OptimBucket *bucket);

/* optim_offload.c: states in host memory. */
bool offload_open(Optimizer *opt); /* allocates memory and lays out the states in it; false means out of memory */
void offload_close(Optimizer *opt);
void offload_update(const Optimizer *opt); /* updates all buckets, copying their states to the device and back */
Tensor offload_host(const OptimBucket *bucket, Tensor state); /* the host memory of a state tensor of the bucket */
