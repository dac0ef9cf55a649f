/* param.h: the parameters of a model, in buckets. A bucket holds the parameters of one block, of the embedding, of a
 * head, or those that the blocks of an encoder or decoder share. It has one allocation for weights, one for gradients,
 * and one for master weights if their dtype differs from that of the weights; with Precision.offload master weights lie
 * in host memory.
 *
 * A layer gets the tensors of a bucket as a view struct (a struct of Tensors such as BlockW) and uses them only between
 * params_acquire and params_release. Files and tools read and write boxes of parameters. Nothing else depends on where
 * the elements lie: several ranks may each hold a part of them (shard.h). */
#pragma once

#include "base/error.h"
#include "device/device.h"

typedef enum InitKind { INIT_ZEROS, INIT_CONSTANT, INIT_NORMAL, INIT_TRUNCATED_NORMAL, INIT_UNIFORM } InitKind;

/* How tensor-parallel ranks divide a tensor. SPLIT_ROWS, SPLIT_COLS: each rank has a range of rows, or of columns
 * (tensor_parallel_start in comm/tensor_parallel.h); ranges of columns are equally long. */
typedef enum Split {
    SPLIT_NONE,   /* every rank has the whole tensor and computes its whole gradient */
    SPLIT_TOKENS, /* every rank has the whole tensor; with TensorParallel.sequence its gradient is the sum of what the
                     ranks compute from their rows of the stream, otherwise as SPLIT_NONE */
    SPLIT_SHARED, /* every rank has the whole tensor; its gradient is the sum of what the ranks compute */
    SPLIT_ROWS,
    SPLIT_COPIED, /* as SPLIT_ROWS, among groups of ranks that have the same key/value heads (TensorParallel.n_copies);
                     the gradient is the sum of what the ranks of a group compute */
    SPLIT_COLS
} Split;

/* Whether other stages of a pipeline have the same parameter, such as an embedding that the head shares. Its gradients
 * are summed over these stages. The first of them saves it, and counts it in the norm of the gradients. */
typedef enum Tie { TIE_NONE, TIE_FIRST, TIE_COPY } Tie;

/* What a parameter is for. Optimizers may update each kind by another method. */
typedef enum ParamKind {
    PARAM_MATRIX,    /* of a linear layer of a block */
    PARAM_EMBEDDING, /* a table whose rows are looked up: tokens, positions, relative-position biases */
    PARAM_HEAD,      /* of the layers after the last block */
    PARAM_VECTOR,    /* cols 0: biases, gains of norms */
    PARAM_KINDS
} ParamKind;

/* The smallest piece of a parameter that an optimizer updates by itself. */
typedef enum Unit { UNIT_ELEMENT, UNIT_ROW, UNIT_MATRIX } Unit;

/* One logical tensor, as checkpoints name it. (rows, cols): of linear layers (out, in); cols 0 means a vector. */
typedef struct ParamSpec {
    char name[56]; /* "encoder.3.self.q.w" */
    int bucket;
    size_t field;    /* offset of its Tensor in the view struct of its bucket */
    ptrdiff_t group; /* fused parameters, such as q, k and v, lie one after another and form one matrix, for one matrix
                        product: the offset of that matrix in the view struct; -1 means not fused */
    int64_t rows, cols;
    Split split;
    Tie tie;
    InitKind init;
    double std;     /* normals: standard deviation after truncation; uniform: the half-width; constant: the value */
    bool decay;     /* gets weight decay under `optim.decay: matrices`: true for matrices */
    bool frozen;    /* never updated: has no gradient and no optimizer state, but has master weights, which checkpoints
                       save. Fused parameters are all frozen or all trained */
    ParamKind kind; /* params_open makes it PARAM_VECTOR if cols is 0 */
    /* 1 without µP (model/params/params.c). size: a factor that `std` contains. rate: a factor on the learning rate of
     * an optimizer whose steps have the same size whatever that of the weights is. */
    double size, rate;
} ParamSpec;

/* A rectangular part of a logical tensor: rows start[0] … start[0] + shape[0] - 1, and columns start[1] … start[1] +
 * shape[1] - 1. A vector counts as one column: start[1] 0, shape[1] 1. */
typedef struct Box {
    int64_t start[2], shape[2];
} Box;

/* Divides elements [first, first + n) of a box, counted row after row, into up to three boxes; returns their number. */
int box_split(const Box *box, int64_t first, int64_t n, Box parts[3]);

/* If the store is sharded over ranks (shard.h), only rows of this rank's part can be read, and writing ignores
 * elements that only other ranks hold. */
typedef struct ParamStore ParamStore;

/* The specs are ordered by bucket, and fused parameters follow each other. uses[b]: calls of grads_ready for bucket b
 * in one microbatch (3 for an embedding shared by encoder, decoder and head; 0 for a bucket that backward never
 * reaches); uses NULL means 1 for every bucket. Weights, gradients and masters have the dtypes of dev->precision; a
 * store without gradients has no masters. Returns NULL if out of memory. */
ParamStore *params_open(Device *dev, const ParamSpec *specs, int n_specs, const int *uses, bool gradients);
void params_close(ParamStore *store);
/* Initialises every parameter from (seed, its name), independent of order, device and layout. */
void params_init(ParamStore *store, uint64_t seed);
int params_count(const ParamStore *store);
const ParamSpec *params_spec(const ParamStore *store, int index);
int params_index(const ParamStore *store, const char *name); /* -1 if absent */
int64_t params_elements(const ParamStore *store);            /* number of elements of all logical tensors */

/* Bytes of all logical tensors, or of this rank's parts. masters is 0 if weights of the same dtype serve as masters. */
typedef struct ParamBytes {
    size_t weights, masters, gradients;
    size_t updated; /* that an update of this rank's part reads and writes, except optimizer states: gradients once,
                       weights and masters twice; nothing of frozen parameters */
} ParamBytes;
ParamBytes params_bytes(const ParamStore *store);

/* Copy a box (NULL means the whole tensor) of a parameter's master weights, or of its weights if it has no masters, to
 * or from a contiguous host array of `dtype`, with a cast if the dtypes differ. Reading waits for the device. On the
 * null device `host` stays unchanged. */
void params_read(ParamStore *store, int index, const Box *box, DType dtype, void *host);
void params_write(ParamStore *store, int index, const Box *box, DType dtype, const void *host);

/* Copies parameter `source` of the store `from` into parameter `index` of the store `to`; both have the same shape. */
void params_copy(ParamStore *to, int index, ParamStore *from, int source);

/* Fills the fields of a bucket's view struct with weights. */
void params_acquire(ParamStore *store, int bucket, void *views);
/* Ends the use of the weights; the view struct is then invalid. */
void params_release(ParamStore *store, int bucket);
/* Fills the fields with gradients, NO_TENSOR for a frozen parameter. Returns the beta of the operations that write them
 * (d = beta d + new): 0 at the first call since grads_begin, then 1; always 0 if gradients are sharded (ZeRO 2 and 3,
 * blocks). After the first call every tensor of the bucket must be written: a tensor that is left out keeps the
 * gradient of the previous step. */
float grads_acquire(ParamStore *store, int bucket, void *views);
/* From now on the first grads_acquire of each step fills the bucket's gradients with zeros and returns 1. Meant for a
 * bucket of which the first caller does not write every tensor. */
void grads_begin_with_zeros(ParamStore *store, int bucket);
/* To be called after each write of a bucket's gradients. These are ready (complete) after uses[bucket] × n_microbatches
 * calls since grads_begin; a further call is a bug. */
void grads_ready(ParamStore *store, int bucket);
/* Starts a step of n_microbatches: the next write of each gradient replaces its value. */
void grads_begin(ParamStore *store, int64_t n_microbatches);
/* fn(context, bucket) is called when a bucket's gradients are ready, in the order in which backward finishes the
 * buckets: once per step; if gradients are sharded, after each contribution; for tied parameters, by grads_reduce_tied.
 * A reduction over ranks can start there. fn NULL means no call. */
typedef void (*BucketFn)(void *context, int bucket);
void grads_on_ready(ParamStore *store, BucketFn fn, void *context);
/* The L2 norm of all gradients together, the same on every rank; every bucket must be ready. A bucket whose gradients
 * were not acquired since grads_begin is filled with zeros first. */
double grads_norm(ParamStore *store);
/* Queues the device's part of grads_norm. Other downloads may be queued behind it; grads_norm, called
 * afterwards, returns the result. So one wait for the device serves the norm and those downloads. */
void grads_norm_begin(ParamStore *store);

/* The gradient of a parameter; NO_TENSOR if this rank keeps only a part of it. */
Tensor grads_tensor(const ParamStore *store, int index);
/* Starts to reduce the buckets that have tied parameters over the ranks, after the caller has summed their gradients
 * over the stages of the pipeline. These buckets wait for this call instead of their last contribution. */
void grads_reduce_tied(ParamStore *store);
