/* param.h: parameters in buckets. A bucket (one block, the embedding, the head, a stack's shared tensors) is one flat
 * allocation for weights, one for gradients. Layers reach them only between acquire and release, so that sharding can
 * later change the bodies of these functions and nothing else. */
#pragma once

#include "base/error.h"
#include "device/device.h"

typedef enum InitKind { INIT_ZEROS, INIT_ONES, INIT_NORMAL, INIT_TRUNCATED_NORMAL, INIT_UNIFORM } InitKind;

/* One logical tensor. (rows, cols) as Hugging Face stores it: a linear is (out, in). cols 0: a vector of `rows`. */
typedef struct ParamSpec {
    char name[56]; /* "encoder.3.self.q.w" */
    int bucket;
    size_t field;    /* offset of its Tensor in the view struct of its bucket */
    ptrdiff_t group; /* offset of the Tensor that spans a fusion group (q, k, v rows adjacent), or -1 */
    int64_t rows, cols;
    InitKind init;
    double std; /* normals: standard deviation after truncation; uniform: the half-width */
    bool decay; /* a matrix: gets weight decay under `optim.decay: matrices` */
} ParamSpec;

typedef struct Param {
    ParamSpec spec;
    Tensor w, g; /* views into the bucket */
} Param;

typedef struct ParamStore ParamStore;

/* NULL: no memory. */
ParamStore *params_open(Device *dev, const ParamSpec *specs, int n_specs, bool gradients);
void params_close(ParamStore *store);
/* Fills every parameter from (seed, its name): independent of order, device and layout. */
void params_init(ParamStore *store, uint64_t seed);
int params_count(const ParamStore *store);
Param *params_get(ParamStore *store, int index);
Param *params_find(ParamStore *store, const char *name); /* NULL if absent */
int64_t params_elements(const ParamStore *store);        /* of all logical tensors */
Device *params_device(const ParamStore *store);

/* Fills the Tensor fields of a bucket's view struct with weights. */
void params_acquire(ParamStore *store, int bucket, void *views);
void params_release(ParamStore *store, int bucket);
/* The same with gradients; returns the beta to write them with: 0 at the first touch since grads_begin, then 1. The
 * first touch must write every tensor of the bucket: what it leaves out keeps the gradient of the step before. */
float grads_acquire(ParamStore *store, int bucket, void *views);
void grads_ready(ParamStore *store, int bucket);
void grads_begin(ParamStore *store); /* a step starts: no gradient has been touched */
/* Untouched buckets become zeros; returns the global L2 norm of all gradients. */
double grads_norm(ParamStore *store);
