/* store.h: the private fields of ParamStore, for the files of this folder and for tests that read gradients. */
#pragma once

#include "param/param.h"

#include <glib.h>

typedef struct Param {
    ParamSpec spec;
    Tensor w;      /* weights that layers compute with */
    Tensor master; /* weights that the optimizer updates and checkpoints hold; the same memory as w if both have the
                      same dtype */
    Tensor g;      /* gradient; NO_TENSOR for a frozen parameter, or in a store without gradients */
} Param;

/* Whether the master weights have memory of their own, apart from the weights that layers compute with. */
static inline bool param_has_master(const Param *param)
{
    return param->master.dtype != param->w.dtype;
}

/* The flat allocations of a bucket. */
typedef enum Region { REGION_WEIGHTS, REGION_MASTERS, REGION_GRADIENTS, REGION_COUNT } Region;

typedef struct Bucket {
    Param *params; /* (n_params) points into ParamStore.params */
    int n_params;
    Tensor regions[REGION_COUNT]; /* each as one vector, with zeros in the gaps between tensors; NO_TENSOR if the store
                                     has no such region */
    int uses;                     /* calls of grads_ready in one microbatch */
    int64_t awaited;              /* calls of grads_ready still to come in this step */
    bool g_touched;               /* whether grads_acquire was called since grads_begin */
} Bucket;

struct ParamStore {
    Device *dev;
    Param *params;
    int n_params;
    Bucket *buckets;
    int n_buckets;
    GHashTable *by_name; /* ParamSpec.name -> Param * */
    void *sum;           /* device memory, one f64, for the norm */
    double squares;      /* host copy of `sum`, the squared norm */
    DeviceEvent norm;    /* event after the download to `squares` */
    bool norm_begun;     /* grads_norm_begin was called, and grads_norm was not */
    BucketFn ready;      /* hook of grads_on_ready; NULL means none */
    void *ready_context;
};

Param *params_get(const ParamStore *store, int index);
Param *params_find(const ParamStore *store, const char *name); /* NULL if absent */
Bucket *params_bucket(ParamStore *store, int bucket);
/* Whether the master weights of a parameter lie in host memory. */
static inline bool params_master_on_host(const ParamStore *store, const Param *param)
{
    return store->dev->precision.offload && param_has_master(param);
}
/* tensor_read and tensor_write for a tensor in device memory, or with on_host in host memory that asynchronous copies
 * may still use. */
void params_read_tensor(ParamStore *store, bool on_host, Tensor from, DType dtype, void *to);
void params_write_tensor(ParamStore *store, bool on_host, Tensor to, DType dtype, const void *from);
/* The part of the logical tensor t that the box covers; box NULL means all of it. */
Tensor tensor_box(Tensor t, const Box *box);
