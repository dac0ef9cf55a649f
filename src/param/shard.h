/* shard.h: parameters that are sharded over several ranks (ZeRO, Rajbhandari et al. 2020). The rows of a bucket's
 * tensors, one after another, are divided into equal parts, one per rank, or into whole tensors if the optimizer needs
 * whole matrices. From ZERO_STATES on, a rank keeps optimizer
 * states and master weights only for its own part; at higher levels also gradients and weights of blocks. A bucket
 * outside the blocks (embedding, heads, tensors that all blocks of a stack share) is used during the whole pass, so
 * every rank keeps all its weights and gradients.
 *
 * Every rank must make the same calls in the same order, since many of them communicate. */
#pragma once

#include "comm/context_parallel.h"
#include "comm/tensor_parallel.h"
#include "param/param.h"

typedef enum ZeroLevel {
    ZERO_NONE,      /* every rank holds everything; gradients are summed */
    ZERO_STATES,    /* ZeRO 1: optimizer states and masters are sharded; updated weights are gathered */
    ZERO_GRADIENTS, /* ZeRO 2: also gradients of blocks, whose sums are scattered after each microbatch */
    ZERO_WEIGHTS    /* ZeRO 3: also weights of blocks, gathered one block ahead of use and freed after it */
} ZeroLevel;

typedef struct Sharding {
    Comm *ranks;       /* NULL means no communication, to measure the memory of one of `size` ranks */
    int rank, size;    /* this rank and the number of ranks; size 0 or 1 means one rank, which holds everything */
    ZeroLevel level;   /* ignored with one rank */
    int first_block;   /* buckets from this index on are blocks; set by the caller of params_open_sharded */
    Comm *pipeline;    /* the stages of the pipeline that this model's stage belongs to; NULL means none */
    TensorParallel tp; /* ranks that divide the matrices (ParamSpec.split); each of them divides what it has with the
                          ranks of `ranks`. size 0 means that every matrix is whole */
    Unit units[PARAM_KINDS]; /* by kind of parameter: ranks divide no unit (optimizer_units) and no row */
    ContextParallel cp;      /* ranks that divide the tokens, which are among `ranks`; size 0 means none */
} Sharding;

/* params_open for one of several ranks. shards NULL means one rank. */
ParamStore *params_open_sharded(Device *dev, const ParamSpec *specs, int n_specs, const int *uses, bool gradients,
                                const Sharding *shards);
/* The sharding of the store; size is at least 1. */
Sharding params_sharding(const ParamStore *store);
/* The tensor-parallel ranks of the store, for layers. */
TensorParallel *params_tensor_parallel(ParamStore *store);
/* Likewise, the context-parallel ranks. */
ContextParallel *params_context_parallel(ParamStore *store);
/* The box of a parameter that this rank saves in a checkpoint, possibly without rows: its part, or nothing if another
 * rank of tensor parallelism saves the same tensor; with one rank the whole parameter. */
Box params_part(const ParamStore *store, int index);

/* The box of a parameter that this rank holds, which is what params_write stores. */
Box params_held(const ParamStore *store, int index);

/* Starts to gather the weights of a block from all ranks before its params_acquire. No effect if unsharded. */
void params_prefetch(ParamStore *store, int bucket);
/* Between these two calls, which all ranks make, each rank may acquire any blocks in any order, as when ranks generate
 * texts of different lengths. Nothing is gathered ahead of use or may be written. When ranks need blocks that they do
 * not have, all ranks gather the block that the lowest of these ranks needs, then that of the next one, until none is
 * missing. params_alike_again returns when all ranks have called it; until then this rank takes part in gathering the
 * blocks that the others need. Both do nothing unless weights are sharded. */
void params_unlike(ParamStore *store);
void params_alike_again(ParamStore *store);
/* Called after the update of this rank's part of a bucket: starts to gather the bucket's weights. */
void params_publish(ParamStore *store, int bucket);
/* Which trained weights of a bucket params_hash covers: all; the tensors that are whole on every tensor-parallel rank;
 * or the tensors of SPLIT_COPIED, of which the ranks with the same key/value heads have the same rows. */
typedef enum HashOf { HASH_ALL, HASH_COMMON, HASH_COPIED } HashOf;
/* A hash of this rank's trained weights of a bucket, to compare ranks. 0 if ranks hold parts of them (ZeRO 3). */
uint64_t params_hash(ParamStore *store, int bucket, HashOf of);
/* A hash of the weights of one parameter, which must not be sharded. */
uint64_t params_hash_one(ParamStore *store, int index);
int params_buckets(const ParamStore *store); /* number of buckets */
const char *params_bucket_name(const ParamStore *store,
                               int bucket); /* name of its first parameter; "" if it is empty */

/* Waits until the sums of all gradients over the ranks are complete. */
void grads_wait(ParamStore *store);
/* Waits until all communication that this store has started is complete. */
void params_settle(ParamStore *store);
/* x (n, f64, device memory) = the sum of x over the ranks. */
void params_sum(ParamStore *store, Tensor x);

/* Kinds of data that ranks send to each other in a step. */
typedef enum SentKind {
    SENT_GRADIENTS, /* sums of gradients over data-parallel ranks, and of the norm */
    SENT_WEIGHTS,   /* weights that ranks have parts of (ZeRO) */
    SENT_TENSOR,    /* sums of layers' outputs over tensor-parallel ranks */
    SENT_CONTEXT,   /* exchanges of tokens for heads between context-parallel ranks */
    SENT_PIPELINE,  /* messages between stages, and gradients of tied parameters */
    SENT_KINDS
} SentKind;
typedef struct SentBytes {
    int64_t bytes[SENT_KINDS];
} SentBytes;
int64_t sent_total(SentBytes sent);
/* Bytes that this rank has sent for this store, by kind; on the null device, bytes that it would send. */
SentBytes params_sent(const ParamStore *store);
