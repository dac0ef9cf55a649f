/* param.h: the parameters of a model, in buckets. A bucket holds the parameters of one block, of the embedding, of a
 * head, or those that the blocks of a stack share: in one allocation for weights, one for gradients, and one for master
 * weights where they have another dtype than the weights; these lie in memory of the host with Precision.offload.
 *
 * A layer gets the tensors of a bucket as a view struct, a struct of Tensors such as BlockW, and uses them between
 * params_acquire and params_release only. Files and tools read and write parts (boxes) of parameters. Nothing else
 * depends on where the elements lie, so a later version may spread them over processes. */
#pragma once

#include "base/error.h"
#include "device/device.h"

typedef enum InitKind { INIT_ZEROS, INIT_ONES, INIT_NORMAL, INIT_TRUNCATED_NORMAL, INIT_UNIFORM } InitKind;

/* One logical tensor: a parameter as checkpoints name it. (rows, cols) as in Hugging Face: a linear is (out, in); cols
 * 0 means a vector. */
typedef struct ParamSpec {
    char name[56]; /* "encoder.3.self.q.w" */
    int bucket;
    size_t field;    /* offset of its Tensor in the view struct of its bucket */
    ptrdiff_t group; /* offset in the view struct of the matrix that its fusion group makes up (the rows of q, k and v
                        one after another, for one product); -1 means that it is in no group */
    int64_t rows, cols;
    InitKind init;
    double std;  /* normals: standard deviation after truncation; uniform: the half-width */
    bool decay;  /* a matrix: gets weight decay under `optim.decay: matrices` */
    bool frozen; /* never updated: no gradient and no optimizer state, but master weights, which a checkpoint saves; the
                    same for all of a fusion group */
} ParamSpec;

/* A part of a logical tensor: rows start[0] … start[0] + shape[0] - 1, columns likewise. A vector has the box of a
 * column: start[1] 0, shape[1] 1. */
typedef struct Box {
    int64_t start[2], shape[2];
} Box;

/* Elements [first, first + n) of a box, counted row after row, as up to three boxes in order. Returns their number. */
int box_split(const Box *box, int64_t first, int64_t n, Box parts[3]);

typedef struct ParamStore ParamStore;

/* The specs are ordered by bucket, and those of a fusion group follow each other. uses[b]: calls of grads_ready for
 * bucket b in one microbatch (3 for an embedding shared by encoder, decoder and head; 0 for a bucket that backward
 * never reaches); uses NULL means 1 each. Weights, gradients and masters have the dtypes of the device's precision; a
 * store without gradients has no masters. Returns NULL if out of memory. */
ParamStore *params_open(Device *dev, const ParamSpec *specs, int n_specs, const int *uses, bool gradients);
void params_close(ParamStore *store);
/* Initialises every parameter from (seed, its name), independent of order, device and layout. */
void params_init(ParamStore *store, uint64_t seed);
int params_count(const ParamStore *store);
const ParamSpec *params_spec(const ParamStore *store, int index);
int params_index(const ParamStore *store, const char *name); /* -1 if absent */
int64_t params_elements(const ParamStore *store);            /* of all logical tensors */

/* Bytes of all logical tensors; masters is 0 where the weights have the dtype of the masters. */
typedef struct ParamBytes {
    size_t weights, masters, gradients;
} ParamBytes;
ParamBytes params_bytes(const ParamStore *store);

/* Copies a box of a parameter's master weights, or of its weights where it has no masters (box NULL: the whole tensor)
 * to or from host memory of `dtype`, its rows side by side, with a cast where the dtypes differ. Reading waits for the
 * device; on a device that computes nothing `host` is left alone. */
void params_read(ParamStore *store, int index, const Box *box, DType dtype, void *host);
void params_write(ParamStore *store, int index, const Box *box, DType dtype, const void *host);

/* Copies parameter `source` of another store, of the same shape, into parameter `index`. */
void params_copy(ParamStore *to, int index, ParamStore *from, int source);

/* Fills the fields of a bucket's view struct with weights. */
void params_acquire(ParamStore *store, int bucket, void *views);
void params_release(ParamStore *store, int bucket);
/* Fills the fields with gradients, NO_TENSOR for a frozen parameter. Returns the beta of the operations that
 * write them (d = beta d + new): 0 at the first call since grads_begin, then 1. After the first call every tensor of
 * the bucket must be written: one left out keeps the gradient of the step before. */
float grads_acquire(ParamStore *store, int bucket, void *views);
/* To be called after each write of a bucket's gradients. The bucket is ready after uses (params_open) × microbatches
 * calls since grads_begin; one more is a bug. */
void grads_ready(ParamStore *store, int bucket);
/* Starts a step of n_microbatches: the next write of each gradient replaces its value. */
void grads_begin(ParamStore *store, int64_t n_microbatches);
/* fn(context, bucket) is called when a bucket's gradients are ready, once a step, in the order in which backward
 * finishes them: the place where a reduction over ranks starts. fn NULL means no call. */
typedef void (*BucketFn)(void *context, int bucket);
void grads_on_ready(ParamStore *store, BucketFn fn, void *context);
/* The L2 norm of all gradients together; every bucket must be ready. A bucket whose gradients were not acquired since
 * grads_begin is filled with zeros first. */
double grads_norm(ParamStore *store);
