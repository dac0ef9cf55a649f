/* shard.c: the communication between ranks for a store: sums gradients and gathers weights. */
#include "param/shard.h"

#include "base/check.h"
#include "param/store.h"

Sharding params_sharding(const ParamStore *store)
{
    return store->shards;
}

/* ---- collectives; on the null device they only count bytes ---- */

static bool is_plan(const ParamStore *store)
{
    return store->shards.ranks == NULL || !store->dev->computes;
}

static int64_t bytes_of(Tensor t)
{
    return tensor_count(t) * (int64_t)dtype_bytes((DType)t.dtype);
}

static void count(ParamStore *store, int64_t bytes)
{
    store->sent_bytes += bytes;
}

/* Equal parts of n elements, as comm_start divides them: the elements that a rank sends in an all-reduce. */
static int64_t all_reduce_elements(const ParamStore *store, int64_t n)
{
    int size = store->shards.size, rank = store->shards.rank;
    int64_t own = comm_start(n, size, rank + 1) - comm_start(n, size, rank);
    return n - own + own * (size - 1);
}

static CommWork all_reduce(ParamStore *store, Tensor x)
{
    count(store, all_reduce_elements(store, x.d[0]) * (int64_t)dtype_bytes((DType)x.dtype));
    return is_plan(store) ? 0 : comm_all_reduce(store->shards.ranks, x);
}

static CommWork reduce_scatter(ParamStore *store, Tensor out, Tensor x, const int64_t *starts)
{
    count(store, bytes_of(x) - bytes_of(out));
    return is_plan(store) ? 0 : comm_reduce_scatter(store->shards.ranks, out, x, starts);
}

static CommWork gather(ParamStore *store, Tensor x, const Memory *memory)
{
    count(store, bytes_of(memory->own) * (store->shards.size - 1));
    return is_plan(store) ? 0 : comm_all_gather(store->shards.ranks, x, memory->own, memory->starts);
}

static void wait_for(ParamStore *store, CommWork *work)
{
    if (*work > 0)
        comm_wait(store->shards.ranks, *work);
    *work = 0;
}

void params_sum(ParamStore *store, Tensor x)
{
    CommWork work = store->shards.size > 1 ? all_reduce(store, x) : 0;
    wait_for(store, &work);
}

int64_t params_sent_bytes(const ParamStore *store)
{
    return store->sent_bytes;
}

/* ---- weights ---- */

/* The slot that holds a bucket's weights, or will hold them when its communication is done; NULL means none. */
static Slot *slot_of(ParamStore *store, int bucket)
{
    for (Slot *slot = store->weights; slot < store->weights + SLOTS; slot++)
        if (slot->bucket == bucket)
            return slot;
    return NULL;
}

/* Starts to gather a bucket's weights into an unused slot; returns NULL if all slots are in use. */
static Slot *begin_gather(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    Slot *slot = store->weights;
    while (slot < store->weights + SLOTS && slot->held > 0)
        slot++;
    if (slot == store->weights + SLOTS)
        return NULL;
    if (slot->bucket >= 0 && slot + 1 < store->weights + SLOTS && slot[1].held == 0 && slot[1].bucket < 0)
        slot++; /* prefer an empty slot to one with weights of another bucket */
    wait_for(store, &slot->work);
    slot->bucket = index;
    for (int span = 0; span < SPANS; span++) {
        const Memory *memory = &bucket->memory[span][REGION_WEIGHTS];
        if (memory->count > 0)
            slot->work = gather(store, layout_in_slot(bucket, (Span)span, REGION_WEIGHTS, slot->memory), memory);
    }
    return slot;
}

void params_prefetch(ParamStore *store, int bucket)
{
    if (shard_cuts(store, &store->buckets[bucket], REGION_WEIGHTS) && slot_of(store, bucket) == NULL)
        begin_gather(store, bucket);
}

void shard_acquire(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    wait_for(store, &bucket->published);
    if (!shard_cuts(store, bucket, REGION_WEIGHTS))
        return;
    Slot *slot = slot_of(store, index);
    slot = slot ? slot : begin_gather(store, index);
    CHECK(slot, "more than %d blocks are used at once", SLOTS);
    wait_for(store, &slot->work);
    slot->held++;
    layout_place(store, bucket, REGION_WEIGHTS, slot->memory);
}

void shard_release(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    if (!shard_cuts(store, bucket, REGION_WEIGHTS))
        return;
    Slot *slot = slot_of(store, index);
    CHECK(slot && slot->held > 0, "bucket %d is released and was not acquired", index);
    slot->held--;
    if (slot->held == 0)
        layout_place(store, bucket, REGION_WEIGHTS, NULL);
}

void shard_forget(ParamStore *store)
{
    for (Slot *slot = store->weights; slot < store->weights + SLOTS; slot++) {
        CHECK(slot->held == 0, "weights are written while bucket %d is in use", slot->bucket);
        wait_for(store, &slot->work);
        slot->bucket = -1;
    }
}

void params_publish(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    const Memory *weights = &bucket->memory[SPAN_TRAINED][REGION_WEIGHTS];
    if (store->shards.level == ZERO_NONE)
        return;
    if (shard_cuts(store, bucket, REGION_WEIGHTS))
        shard_forget(store);
    else if (weights->count > 0)
        bucket->published = gather(store, weights->all, weights);
}

/* ---- gradients ---- */

/* Completes the reduction of a slot's gradients, after which the slot may be filled again. */
static void finish_reduction(ParamStore *store, Slot *slot)
{
    wait_for(store, &slot->work);
    if (slot->adds) {
        Tensor own = store->buckets[slot->bucket].memory[SPAN_TRAINED][REGION_GRADIENTS].own;
        Tensor part = tensor_matrix(own.p, (DType)own.dtype, 1, own.d[0]);
        op_add(store->dev, part, part, tensor_matrix(slot->sum, (DType)own.dtype, 1, own.d[0]));
    }
    slot->adds = false;
    slot->bucket = -1;
}

/* A free slot for the gradients of a bucket. */
static Slot *take_slot(ParamStore *store, int index)
{
    Slot *slot = &store->gradients[store->gradient_turn++ % SLOTS];
    finish_reduction(store, slot);
    slot->bucket = index;
    return slot;
}

/* Writes zeros into the gaps between tensors: the previous bucket in the slot may have left numbers there, which would
 * count in the norm. */
static void fill_gaps(ParamStore *store, const Bucket *bucket, Tensor all)
{
    size_t size = dtype_bytes((DType)all.dtype), at = 0;
    for (const Param *param = bucket->params; param < bucket->params + bucket->n_params; param++) {
        if (param->spec.frozen)
            continue;
        size_t begin = param->at[REGION_GRADIENTS];
        if (begin > at)
            op_fill(store->dev, tensor_slice_rows(all, (int64_t)(at / size), (int64_t)((begin - at) / size)), 0);
        at = begin + (size_t)(param->spec.rows * param_cols(param)) * size;
    }
    op_fill(store->dev, tensor_slice_rows(all, (int64_t)(at / size), all.d[0] - (int64_t)(at / size)), 0);
}

void shard_acquire_gradients(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    CHECK(bucket->uses == 1, "the gradients of block %d are written %d times", index, bucket->uses);
    Slot *slot = take_slot(store, index);
    layout_place(store, bucket, REGION_GRADIENTS, slot->memory);
    fill_gaps(store, bucket, layout_in_slot(bucket, SPAN_TRAINED, REGION_GRADIENTS, slot->memory));
}

/* The first microbatch's sum overwrites this rank's part; later sums are added to it. */
static void reduce_slot(ParamStore *store, Slot *slot)
{
    Bucket *bucket = &store->buckets[slot->bucket];
    const Memory *memory = &bucket->memory[SPAN_TRAINED][REGION_GRADIENTS];
    Tensor all = layout_in_slot(bucket, SPAN_TRAINED, REGION_GRADIENTS, slot->memory), out = memory->own;
    slot->adds = bucket->reduced++ > 0;
    if (slot->adds)
        out.p = slot->sum;
    store->reduced = slot->work = reduce_scatter(store, out, all, memory->starts);
}

void shard_reduce(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    const Memory *memory = &bucket->memory[SPAN_TRAINED][REGION_GRADIENTS];
    if (store->shards.size == 1)
        return;
    if (shard_cuts(store, bucket, REGION_GRADIENTS)) {
        for (Slot *slot = store->gradients; slot < store->gradients + SLOTS; slot++)
            if (slot->bucket == index && slot->work == 0)
                reduce_slot(store, slot);
        layout_place(store, bucket, REGION_GRADIENTS, NULL);
        return;
    }
    store->reduced = store->shards.level == ZERO_NONE ? all_reduce(store, memory->all)
                                                      : reduce_scatter(store, memory->own, memory->all, memory->starts);
}

void grads_wait(ParamStore *store)
{
    wait_for(store, &store->reduced);
    for (int i = 0; i < SLOTS; i++)
        finish_reduction(store, &store->gradients[store->gradient_turn++ % SLOTS]);
}

void params_settle(ParamStore *store)
{
    grads_wait(store);
    for (Slot *slot = store->weights; slot < store->weights + SLOTS; slot++)
        wait_for(store, &slot->work);
    for (Bucket *bucket = store->buckets; bucket < store->buckets + store->n_buckets; bucket++)
        wait_for(store, &bucket->published);
}
