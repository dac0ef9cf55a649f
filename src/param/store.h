/* store.h: the private fields of ParamStore, for the files of this folder and for tests that read gradients. */
#pragma once

#include "param/shard.h"

#include <glib.h>

/* The flat allocations of a bucket. */
typedef enum Region { REGION_WEIGHTS, REGION_MASTERS, REGION_GRADIENTS, REGION_COUNT } Region;
/* Parameters that are trained, and frozen ones, lie apart, since ranks exchange the first ones only. */
typedef enum Span { SPAN_TRAINED, SPAN_FROZEN, SPANS } Span;

/* Tensors of all rows are NO_TENSOR where this rank holds a part only; those of a block's weights or gradients are then
 * there between params_acquire or grads_acquire and the end of their use. */
typedef struct Param {
    ParamSpec spec;
    Tensor w;            /* weights that layers compute with */
    Tensor master;       /* weights that the optimizer updates and files hold; the same memory as w if of its dtype */
    Tensor g;            /* gradient; NO_TENSOR for a frozen parameter, or in a store without gradients */
    int64_t first, rows; /* this rank's part: rows of a matrix, elements of a vector */
    Tensor own[REGION_COUNT]; /* what this rank updates: its part of each tensor; without ZeRO all of it */
    size_t at[REGION_COUNT];  /* offset in bytes in the memory of its span */
} Param;

/* Whether the master weights have memory of their own, apart from the weights that layers compute with. */
static inline bool param_has_master(const Param *param)
{
    return param->own[REGION_MASTERS].dtype != param->own[REGION_WEIGHTS].dtype;
}

static inline int64_t param_cols(const Param *param)
{
    return MAX(param->spec.cols, 1);
}

/* A region's memory, as vectors of its dtype with zeros in gaps between tensors. */
typedef struct Memory {
    Tensor all;      /* NO_TENSOR where there is none, or where this rank holds its part only */
    Tensor own;      /* this rank's part; with one rank the same as all */
    int64_t count;   /* elements of all ranks together */
    int64_t *starts; /* (ranks + 1) element where each rank's part begins; NULL with one rank */
} Memory;

typedef struct Bucket {
    Param *params; /* (n_params) points into ParamStore.params */
    int n_params;
    Memory memory[SPANS][REGION_COUNT];
    int uses;           /* calls of grads_ready in one microbatch */
    int64_t awaited;    /* calls of grads_ready still to come in this step */
    bool g_touched;     /* whether grads_acquire was called since grads_begin */
    bool block;         /* its weights and gradients may be cut (Sharding.first_block) */
    int64_t reduced;    /* cut gradients: microbatches of this step that were added to the part */
    CommWork published; /* of params_publish, where it has not been waited for */
} Bucket;

/* Memory for all weights, or all gradients, of one block, where ranks hold parts. */
typedef struct Slot {
    char *memory;
    int bucket;    /* whose; -1 means none */
    int held;      /* params_acquire without params_release */
    CommWork work; /* the gathering, or the reduction, that is under way; 0 means none */
    char *sum;     /* gradients: memory for the sum over ranks of a later microbatch */
    bool adds;     /* `sum` is still to be added to the bucket's part */
} Slot;
enum { SLOTS = 2 }; /* the block that computes, and the one before or after it */

struct ParamStore {
    Device *dev;
    Sharding shards;
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
    Slot weights[SLOTS], gradients[SLOTS];
    size_t slot_bytes[REGION_COUNT]; /* of each slot, its `sum` included; 0 means that there are none */
    int gradient_turn;               /* the slot of gradients that is taken next */
    CommWork reduced;                /* the last reduction of gradients that was begun */
    int64_t sent_bytes;
};

/* Whether this rank holds its part of a bucket's region only. */
static inline bool shard_cuts(const ParamStore *store, const Bucket *bucket, Region region)
{
    ZeroLevel level = store->shards.level;
    return region == REGION_MASTERS     ? level >= ZERO_STATES
           : region == REGION_GRADIENTS ? level >= ZERO_GRADIENTS && bucket->block
                                        : level >= ZERO_WEIGHTS && bucket->block;
}

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

/* ---- layout.c: what lies where ---- */

/* Takes the memory of all buckets and lays out their tensors. false: no memory. */
bool layout_open(ParamStore *store, bool gradients);
void layout_close(ParamStore *store);
/* Puts the tensors of all rows of a bucket's region into `memory`, or with NULL nowhere. */
void layout_place(ParamStore *store, Bucket *bucket, Region region, char *memory);
/* A bucket's memory in a slot of this region, of one span: a vector. */
Tensor layout_in_slot(const Bucket *bucket, Span span, Region region, char *slot);
/* The first element of a rank's part of a bucket, counted over its trained parameters, one after another. */
int64_t layout_part_start(const ParamStore *store, const Bucket *bucket, int rank);

/* ---- shard.c ---- */

/* Fill p->w or p->g of a cut bucket for use, and end that use. */
void shard_acquire(ParamStore *store, int bucket);
void shard_release(ParamStore *store, int bucket);
void shard_acquire_gradients(ParamStore *store, int bucket);
/* The gradients of a bucket are whole on this rank: their sum over ranks begins. */
void shard_reduce(ParamStore *store, int bucket);
/* Weights were written: what was gathered of them is out of date. */
void shard_forget(ParamStore *store);
