/* grads.c: the gradients of a step: counts the contributions to each bucket, and computes the norm. */
#include "base/check.h"
#include "param/store.h"

void grads_on_ready(ParamStore *store, BucketFn fn, void *context)
{
    store->ready = fn;
    store->ready_context = context;
}

/* Whether a bucket has gradients; a frozen or empty one has none, so its gradients are never waited for. */
static bool has_gradients(const Bucket *bucket)
{
    return bucket->memory[SPAN_TRAINED][REGION_GRADIENTS].count > 0;
}

void grads_begin(ParamStore *store, int64_t n_microbatches)
{
    for (int i = 0; i < store->n_buckets; i++) {
        Bucket *bucket = &store->buckets[i];
        bucket->g_touched = false;
        bucket->reduced = 0;
        bucket->awaited = has_gradients(bucket) ? bucket->uses * n_microbatches : 0;
    }
    store->norm_begun = false;
}

void grads_ready(ParamStore *store, int index)
{
    Bucket *bucket = params_bucket(store, index);
    if (!has_gradients(bucket))
        return;
    CHECK(bucket->awaited > 0, "a contribution to bucket %d after its last one", index);
    bucket->awaited--;
    bool cut = shard_cuts(store, bucket, REGION_GRADIENTS);
    if ((bucket->awaited == 0 || cut) && store->ready && !bucket->tied)
        store->ready(store->ready_context, index);
}

Tensor grads_tensor(const ParamStore *store, int index)
{
    return params_get(store, index)->g;
}

void grads_reduce_tied(ParamStore *store)
{
    for (int i = 0; i < store->n_buckets; i++)
        if (store->buckets[i].tied && store->ready && has_gradients(&store->buckets[i]))
            store->ready(store->ready_context, i);
}

/* sum += the squares of this rank's part of a bucket's gradients. */
static void add_squares(ParamStore *store, const Bucket *bucket, Tensor sum)
{
    bool all = true;
    for (int i = 0; i < bucket->n_params; i++)
        all &= param_counts(store, &bucket->params[i]);
    if (all) {
        op_sumsq(store->dev, sum, bucket->memory[SPAN_TRAINED][REGION_GRADIENTS].own, 1);
        return;
    }
    for (const Param *param = bucket->params; param < bucket->params + bucket->n_params; param++) {
        Tensor own = param->own[REGION_GRADIENTS];
        if (!param_counts(store, param) || param->spec.frozen || param->rows == 0)
            continue;
        if (store->shards.level == ZERO_NONE)
            own = tensor_slice_rows(own, param->first, param->rows);
        op_sumsq(store->dev, sum, own, 1);
    }
}

void grads_norm_begin(ParamStore *store)
{
    Tensor sum = tensor_vector(store->sum, DT_F64, 1);
    grads_wait(store);
    store->squares = 0;
    op_fill(store->dev, sum, 0);
    for (int i = 0; i < store->n_buckets; i++) {
        Bucket *bucket = &store->buckets[i];
        const Memory *memory = &bucket->memory[SPAN_TRAINED][REGION_GRADIENTS];
        CHECK(tensor_present(memory->own), "bucket %d was opened without gradients", i);
        CHECK(bucket->awaited == 0, "bucket %d still awaits %lld contributions", i, (long long)bucket->awaited);
        if (!has_gradients(bucket))
            continue;
        if (!bucket->g_touched)
            op_fill(store->dev, tensor_present(memory->all) ? memory->all : memory->own, 0);
        bucket->g_touched = true;
        add_squares(store, bucket, sum);
    }
    tensor_download(store->dev, &store->squares, sum);
    store->norm = device_record_event(store->dev);
    store->norm_begun = true;
}

double grads_norm(ParamStore *store)
{
    if (!store->norm_begun)
        grads_norm_begin(store);
    store->norm_begun = false;
    device_wait_event(store->dev, store->norm);
    if (store->shards.ranks && store->dev->computes)
        comm_sum(store->shards.ranks, &store->squares, 1);
    if (tensor_parallel_size(&store->shards.tp) > 1 && store->shards.tp.ranks && store->dev->computes)
        comm_sum(store->shards.tp.ranks, &store->squares, 1);
    if (store->shards.pipeline && store->dev->computes)
        comm_sum(store->shards.pipeline, &store->squares, 1);
    return sqrt(store->squares);
}
