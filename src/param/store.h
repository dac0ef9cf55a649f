/* store.h: the inside of ParamStore, for the files of this folder and for tests that look at gradients. */
#pragma once

#include "param/param.h"

#include <glib.h>

typedef struct Param {
    ParamSpec spec;
    Tensor w; /* weights that layers compute with */
    Tensor
        master; /* weights that the optimizer updates and files hold; the same memory as w where no other is needed */
    Tensor g;   /* NO_TENSOR: frozen, or a store without gradients */
} Param;

/* Master weights apart from those that layers compute with. */
static inline bool param_has_master(const Param *param)
{
    return param->master.dtype != param->w.dtype;
}

/* The flat allocations of a bucket. */
typedef enum Region { REGION_WEIGHTS, REGION_MASTERS, REGION_GRADIENTS, REGION_COUNT } Region;

typedef struct Bucket {
    GArray *views;                /* of View */
    Tensor regions[REGION_COUNT]; /* vectors, gaps between tensors included, which are zeros; or NO_TENSOR */
    int uses;                     /* contributions of a microbatch */
    int64_t awaited;              /* contributions that this step still brings */
    bool g_touched;               /* since grads_begin */
} Bucket;

struct ParamStore {
    Device *dev;
    Param *params;
    int n_params;
    Bucket *buckets;
    int n_buckets;
    GHashTable *by_name; /* char * of the spec -> Param * */
    void *sum;           /* device memory, one f64 */
    BucketFn ready;      /* or NULL */
    void *ready_context;
};

Param *params_get(ParamStore *store, int index);
Param *params_find(ParamStore *store, const char *name); /* NULL if absent */
Bucket *params_bucket(ParamStore *store, int bucket);
/* The part of t, a logical tensor, that lies in the box; box NULL means all of it. */
Tensor tensor_box(Tensor t, const Box *box);
