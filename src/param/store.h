/* store.h: the private fields of ParamStore, for the files of this folder and for tests that read gradients. */
#pragma once

#include "param/shard.h"

/* The flat allocations of a bucket. */
typedef enum Region { REGION_WEIGHTS, REGION_MASTERS, REGION_GRADIENTS, REGION_COUNT } Region;
/* Trained and frozen parameters lie in separate memory, since ranks communicate only the trained ones. */
typedef enum Span { SPAN_TRAINED, SPAN_FROZEN, SPANS } Span;

/* One parameter. w, master and g have all rows of `here`. They are NO_TENSOR if this rank holds a part (ZeRO); but a
 * block has w between params_acquire and params_release, and g from grads_acquire until its gradients are reduced. */
typedef struct Param {
    ParamSpec spec;
    Box here;      /* the box of the logical tensor that this rank computes with (ParamSpec.split): w, master and g */
    Tensor w;      /* weights that layers compute with */
    Tensor master; /* the weights that the optimizer updates and checkpoints hold; w itself if of its dtype */
    Tensor g;      /* gradient; NO_TENSOR for a frozen parameter, or in a store without gradients */
    int64_t first, rows;      /* this rank's part: rows of `here` if it is a matrix, elements if it is a vector */
    Tensor own[REGION_COUNT]; /* this rank's part of each tensor, which it updates; without ZeRO the whole tensor */
    size_t at[REGION_COUNT];  /* byte offset in the memory of its span */
} Param;

/* Whether the master weights have memory of their own, apart from the weights that layers compute with. */
static inline bool param_has_master(const Param *param)
{
    return param->own[REGION_MASTERS].dtype != param->own[REGION_WEIGHTS].dtype;
}

/* Rows, columns (1 for a vector) and elements of Param.here. */
static inline int64_t param_rows(const Param *param)
{
    return param->here.shape[0];
}
static inline int64_t param_cols(const Param *param)
{
    return param->here.shape[1];
}
static inline int64_t param_elements(const Param *param)
{
    return param_rows(param) * param_cols(param);
}
/* Whether tensor-parallel ranks have different rows of a tensor; different rows or columns. */
static inline bool split_by_rows(Split split)
{
    return split == SPLIT_ROWS || split == SPLIT_COPIED;
}
static inline bool split_divides(Split split)
{
    return split_by_rows(split) || split == SPLIT_COLS;
}
static inline bool param_is_split(const Param *param)
{
    return split_divides(param->spec.split);
}

/* The memory of one region, as vectors of its dtype with zeros in the gaps between tensors. */
typedef struct Memory {
    Tensor all;      /* NO_TENSOR if there is no such region, or if this rank holds only its part */
    Tensor own;      /* this rank's part; with one rank the same as all */
    int64_t count;   /* number of elements of all ranks together */
    int64_t *starts; /* (ranks + 1) index of the first element of each rank's part; NULL with one rank */
} Memory;

/* The element at which one rank's part of a span ends and the next part begins: the start of a row of a parameter. */
typedef struct Cut {
    int param; /* index in the bucket; n_params means after the last one */
    int64_t row;
} Cut;

typedef struct Bucket {
    Param *params; /* (n_params) points into ParamStore.params */
    int n_params;
    Cut *cuts[SPANS]; /* (ranks + 1) the beginning of each rank's part, and the end of the last one */
    Memory memory[SPANS][REGION_COUNT];
    int uses;           /* calls of grads_ready in one microbatch */
    int64_t awaited;    /* calls of grads_ready still to come in this step */
    bool g_touched;     /* whether grads_acquire was called since grads_begin */
    bool zeroed;        /* grads_begin_with_zeros was called */
    bool tied;          /* has a parameter that other stages of a pipeline have, too */
    bool block;         /* is a block, whose weights and gradients may be sharded (Sharding.first_block) */
    int64_t reduced;    /* with sharded gradients: number of this step's microbatches that were added to the part */
    CommWork published; /* communication of params_publish that has not been waited for; 0 means none */
} Bucket;

/* Temporary memory for all weights, or all gradients, of one block, if these are sharded. */
typedef struct BlockBuffer {
    char *memory;
    int bucket;    /* bucket that uses the buffer; -1 means none */
    int held;      /* calls of params_acquire minus calls of params_release */
    CommWork work; /* gathering or reduction that is under way; 0 means none */
    char *sum;     /* for gradients: memory for the sum over ranks, from the second microbatch on */
    bool adds;     /* `sum` is still to be added to the bucket's part */
} BlockBuffer;
enum { BLOCK_BUFFERS = 2 }; /* the current block, and the one before or after it */

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
    BlockBuffer weights[BLOCK_BUFFERS], gradients[BLOCK_BUFFERS];
    size_t buffer_bytes[REGION_COUNT]; /* size of each buffer, including its `sum`; 0 means no buffers */
    int gradient_turn;                 /* index of the gradient buffer to use next */
    bool unlike;                       /* between params_unlike and params_alike_again */
    CommWork reduced;                  /* the gradient reduction that was started last */
    SentBytes sent;                    /* without SENT_TENSOR and SENT_CONTEXT, which shards.tp and shards.cp count */
};

/* Whether the region of a bucket is sharded: this rank holds only its part. */
static inline bool shard_cuts(const ParamStore *store, const Bucket *bucket, Region region)
{
    ZeroLevel level = store->shards.level;
    return region == REGION_MASTERS     ? level >= ZERO_STATES
           : region == REGION_GRADIENTS ? level >= ZERO_GRADIENTS && bucket->block
                                        : level >= ZERO_WEIGHTS && bucket->block;
}

/* Whether this rank counts a parameter in sums over all ranks, and saves it: if several ranks have the same tensor, or
 * the same rows of it, only the first one does. */
static inline bool param_counts(const ParamStore *store, const Param *param)
{
    const TensorParallel *tp = &store->shards.tp;
    return param->spec.tie != TIE_COPY && (param->spec.split == SPLIT_COPIED ? tensor_parallel_first_copy(tp)
                                           : param_is_split(param)           ? true
                                                                             : tensor_parallel_rank(tp) == 0);
}

Param *params_get(const ParamStore *store, int index);
Param *params_find(const ParamStore *store, const char *name); /* NULL if absent */
Bucket *params_bucket(ParamStore *store, int bucket);
/* Whether the master weights of a parameter lie in host memory. */
static inline bool params_master_on_host(const ParamStore *store, const Param *param)
{
    return store->dev->precision.offload && param_has_master(param);
}
/* tensor_read and tensor_write of device memory; on_host: of host memory that asynchronous copies may still use. */
void params_read_tensor(ParamStore *store, bool on_host, Tensor from, DType dtype, void *to);
void params_write_tensor(ParamStore *store, bool on_host, Tensor to, DType dtype, const void *from);
/* The part of the tensor t that the box covers; box NULL means all of it. */
Tensor tensor_box(Tensor t, const Box *box);
/* The part of a box of a logical tensor that lies in `here`, relative to the start of `here`; possibly empty. */
Box box_in_here(const Box *here, Box box);
/* values: the elements of `box`, row by row. Returns the elements of `part`, which box_in_here returned for `box`: a
 * pointer into `values` if they are consecutive there, else a copy, which *owned then holds (g_free). */
const void *box_values(const Box *box, const Box *here, Box part, DType dtype, const void *values, void **owned);

/* ---- layout.c: allocates buckets and places their tensors ---- */

/* Allocates the memory of all buckets and places their tensors in it. Returns false if out of memory. */
bool layout_open(ParamStore *store, bool gradients);
void layout_close(ParamStore *store);
/* Makes the whole tensors of a bucket's region (w, master or g) point into `memory`; NULL makes them NO_TENSOR. */
void layout_place(ParamStore *store, Bucket *bucket, Region region, char *memory);
/* The part of a buffer's memory that belongs to one span of a bucket, as a vector. */
Tensor layout_in_buffer(const Bucket *bucket, Span span, Region region, char *buffer);
/* Index of the first element of a rank's part of a bucket, counted over its trained parameters in order. */
int64_t layout_part_start(const Bucket *bucket, int rank);

/* ---- shard.c ---- */

/* Provide p->w, or p->g, of all parameters p of a sharded bucket; shard_release ends the use of p->w. */
void shard_acquire(ParamStore *store, int bucket);
void shard_release(ParamStore *store, int bucket);
void shard_acquire_gradients(ParamStore *store, int bucket);
/* Called when a bucket's gradients are complete on this rank: starts to sum them over the ranks. */
void shard_reduce(ParamStore *store, int bucket);
/* Called after weights were written: discards gathered copies, which are out of date. */
void shard_forget(ParamStore *store);
