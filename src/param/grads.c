/* grads.c: a step's gradients: counting the contributions to each bucket, and the norm of all. */
#include "param/grads.h"

#include "base/check.h"
#include "param/store.h"

#include <math.h>

void grads_on_ready(ParamStore *store, BucketFn fn, void *context)
{
    store->ready = fn;
    store->ready_context = context;
}

/* A bucket whose gradients exist: frozen and empty ones have none, and nobody waits for them. */
static bool has_gradients(const Bucket *bucket)
{
    return tensor_count(bucket->regions[REGION_GRADIENTS]) > 0;
}

Tensor grads_of_bucket(ParamStore *store, int index)
{
    return params_bucket(store, index)->regions[REGION_GRADIENTS];
}

void grads_begin(ParamStore *store, int64_t n_microbatches)
{
    for (int i = 0; i < store->n_buckets; i++) {
        Bucket *bucket = &store->buckets[i];
        bucket->g_touched = false;
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
    if (bucket->awaited == 0 && store->ready)
        store->ready(store->ready_context, index);
}

void grads_norm_begin(ParamStore *store)
{
    Tensor sum = tensor_vector(store->sum, DT_F64, 1);
    store->squares = 0;
    op_fill(store->dev, sum, 0);
    for (int i = 0; i < store->n_buckets; i++) {
        Bucket *bucket = &store->buckets[i];
        Tensor all = bucket->regions[REGION_GRADIENTS];
        CHECK(tensor_present(all), "bucket %d was opened without gradients", i);
        CHECK(bucket->awaited == 0, "bucket %d still awaits %lld contributions", i, (long long)bucket->awaited);
        if (!bucket->g_touched)
            op_fill(store->dev, all, 0);
        bucket->g_touched = true;
        op_sumsq(store->dev, sum, all, 1);
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
    return sqrt(store->squares);
}
