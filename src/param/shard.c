/* shard.c: the communication between ranks for a store: sums gradients and gathers weights. */
#include "param/shard.h"

#include "base/check.h"
#include "param/store.h"

Sharding params_sharding(const ParamStore *store)
{
    return store->shards;
}

TensorParallel *params_tensor_parallel(ParamStore *store)
{
    return &store->shards.tp;
}

ContextParallel *params_context_parallel(ParamStore *store)
{
    return &store->shards.cp;
}

/* ---- collectives; on the null device they only count bytes ---- */

static bool is_plan(const ParamStore *store)
{
    return store->shards.ranks == NULL || !store->dev->computes;
}

static int64_t local_bytes(Tensor t)
{
    return tensor_count(t) * (int64_t)dtype_bytes(t.dtype);
}

static void count_sent(ParamStore *store, SentKind kind, int64_t bytes)
{
    store->sent.bytes[kind] += bytes;
}

static CommWork all_reduce(ParamStore *store, Tensor x)
{
    const Sharding *shards = &store->shards;
    count_sent(store, SENT_GRADIENTS,
               comm_all_reduce_sends(x.d[0], shards->size, shards->rank) * (int64_t)dtype_bytes(x.dtype));
    return is_plan(store) ? 0 : comm_all_reduce(store->shards.ranks, x);
}

static CommWork reduce_scatter(ParamStore *store, Tensor out, Tensor x, const int64_t *starts)
{
    count_sent(store, SENT_GRADIENTS, local_bytes(x) - local_bytes(out));
    return is_plan(store) ? 0 : comm_reduce_scatter(store->shards.ranks, out, x, starts);
}

static CommWork gather_shards(ParamStore *store, Tensor x, const Memory *memory)
{
    count_sent(store, SENT_WEIGHTS, local_bytes(memory->own) * (store->shards.size - 1));
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

SentBytes params_sent(const ParamStore *store)
{
    SentBytes sent = store->sent;
    sent.bytes[SENT_TENSOR] = store->shards.tp.sent_bytes;
    sent.bytes[SENT_CONTEXT] = store->shards.cp.sent_bytes;
    return sent;
}

int64_t sent_total(SentBytes sent)
{
    int64_t total = 0;
    for (int kind = 0; kind < SENT_KINDS; kind++)
        total += sent.bytes[kind];
    return total;
}

/* ---- weights ---- */

/* The buffer that holds a bucket's weights, or will hold them when its communication is done; NULL means none. */
static BlockBuffer *buffer_of(ParamStore *store, int bucket)
{
    for (BlockBuffer *buffer = store->weights; buffer < store->weights + BLOCK_BUFFERS; buffer++)
        if (buffer->bucket == bucket)
            return buffer;
    return NULL;
}

/* Starts to gather a bucket's weights into an unused buffer; returns NULL if all buffers are in use. */
static BlockBuffer *begin_gather(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    BlockBuffer *buffer = store->weights;
    while (buffer < store->weights + BLOCK_BUFFERS && buffer->held > 0)
        buffer++;
    if (buffer == store->weights + BLOCK_BUFFERS)
        return NULL;
    if (buffer->bucket >= 0 && buffer + 1 < store->weights + BLOCK_BUFFERS && buffer[1].held == 0 &&
        buffer[1].bucket < 0)
        buffer++; /* prefer an empty buffer to one with weights of another bucket */
    wait_for(store, &buffer->work);
    buffer->bucket = index;
    for (int span = 0; span < SPANS; span++) {
        const Memory *memory = &bucket->memory[span][REGION_WEIGHTS];
        if (memory->count > 0)
            buffer->work =
                gather_shards(store, layout_in_buffer(bucket, (Span)span, REGION_WEIGHTS, buffer->memory), memory);
    }
    return buffer;
}

/* Gathers the bucket that the lowest rank at work needs, and returns its index. index: the one that this rank needs; -1
 * means none. Returns -1 if no rank needs one, or if the ranks have failed. */
static int gather_asked(ParamStore *store, int index)
{
    const int32_t own = index;
    g_autofree int32_t *all = g_new(int32_t, store->shards.size);
    for (int r = 0; r < store->shards.size; r++)
        all[r] = -1;
    comm_share(store->shards.ranks, all, &own, sizeof own);
    for (int r = 0; r < store->shards.size; r++)
        if (all[r] >= 0) {
            BlockBuffer *buffer = begin_gather(store, all[r]);
            CHECK(buffer, "more than %d blocks are used at once", BLOCK_BUFFERS);
            wait_for(store, &buffer->work);
            return all[r];
        }
    return -1;
}

/* Whether ranks agree on each block that one of them needs. */
static bool asks(const ParamStore *store)
{
    return store->unlike && store->shards.level >= ZERO_WEIGHTS && store->shards.size > 1 && !is_plan(store);
}

void params_unlike(ParamStore *store)
{
    store->unlike = true;
}

void params_alike_again(ParamStore *store)
{
    const bool asked = asks(store);
    while (asked && gather_asked(store, -1) >= 0)
        ;
    if (asked) /* ranks kept different blocks, and from here on each must know what the others have */
        shard_forget(store);
    store->unlike = false;
}

void params_prefetch(ParamStore *store, int bucket)
{
    if (asks(store))
        return;
    if (shard_cuts(store, &store->buckets[bucket], REGION_WEIGHTS) && buffer_of(store, bucket) == NULL)
        begin_gather(store, bucket);
}

void shard_acquire(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    wait_for(store, &bucket->published);
    if (!shard_cuts(store, bucket, REGION_WEIGHTS))
        return;
    for (int asked = -2; asks(store) && buffer_of(store, index) == NULL && asked != -1;)
        asked = gather_asked(store, index);
    BlockBuffer *buffer = buffer_of(store, index);
    buffer = buffer ? buffer : begin_gather(store, index);
    CHECK(buffer, "more than %d blocks are used at once", BLOCK_BUFFERS);
    wait_for(store, &buffer->work);
    buffer->held++;
    layout_place(store, bucket, REGION_WEIGHTS, buffer->memory);
}

void shard_release(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    if (!shard_cuts(store, bucket, REGION_WEIGHTS))
        return;
    BlockBuffer *buffer = buffer_of(store, index);
    CHECK(buffer && buffer->held > 0, "bucket %d is released and was not acquired", index);
    buffer->held--;
    if (buffer->held == 0)
        layout_place(store, bucket, REGION_WEIGHTS, NULL);
}

void shard_forget(ParamStore *store)
{
    for (BlockBuffer *buffer = store->weights; buffer < store->weights + BLOCK_BUFFERS; buffer++) {
        CHECK(buffer->held == 0, "weights are written while bucket %d is in use", buffer->bucket);
        wait_for(store, &buffer->work);
        buffer->bucket = -1;
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
        bucket->published = gather_shards(store, weights->all, weights);
}

/* ---- gradients ---- */

/* Completes the reduction of a buffer's gradients, after which the buffer may be filled again. */
static void finish_reduction(ParamStore *store, BlockBuffer *buffer)
{
    wait_for(store, &buffer->work);
    if (buffer->adds) {
        Tensor own = store->buckets[buffer->bucket].memory[SPAN_TRAINED][REGION_GRADIENTS].own;
        Tensor part = tensor_matrix(own.p, own.dtype, 1, own.d[0]);
        op_add(store->dev, part, part, tensor_matrix(buffer->sum, own.dtype, 1, own.d[0]));
    }
    buffer->adds = false;
    buffer->bucket = -1;
}

/* A free buffer for the gradients of a bucket. */
static BlockBuffer *take_buffer(ParamStore *store, int index)
{
    BlockBuffer *buffer = &store->gradients[store->gradient_turn++ % BLOCK_BUFFERS];
    finish_reduction(store, buffer);
    buffer->bucket = index;
    return buffer;
}

/* Writes zeros into the gaps between tensors, where numbers of the previous bucket would count in the norm. */
static void fill_gaps(ParamStore *store, const Bucket *bucket, Tensor all)
{
    size_t size = dtype_bytes(all.dtype), at = 0;
    for (const Param *param = bucket->params; param < bucket->params + bucket->n_params; param++) {
        if (param->spec.frozen)
            continue;
        size_t begin = param->at[REGION_GRADIENTS];
        if (begin > at)
            op_fill(store->dev, tensor_slice_rows(all, (int64_t)(at / size), (int64_t)((begin - at) / size)), 0);
        at = begin + (size_t)param_elements(param) * size;
    }
    op_fill(store->dev, tensor_slice_rows(all, (int64_t)(at / size), all.d[0] - (int64_t)(at / size)), 0);
}

void shard_acquire_gradients(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    CHECK(bucket->uses == 1, "the gradients of block %d are written %d times", index, bucket->uses);
    BlockBuffer *buffer = take_buffer(store, index);
    layout_place(store, bucket, REGION_GRADIENTS, buffer->memory);
    fill_gaps(store, bucket, layout_in_buffer(bucket, SPAN_TRAINED, REGION_GRADIENTS, buffer->memory));
}

/* The first microbatch's sum overwrites this rank's part; later sums are added to it. */
static void reduce_buffer(ParamStore *store, BlockBuffer *buffer)
{
    Bucket *bucket = &store->buckets[buffer->bucket];
    const Memory *memory = &bucket->memory[SPAN_TRAINED][REGION_GRADIENTS];
    Tensor all = layout_in_buffer(bucket, SPAN_TRAINED, REGION_GRADIENTS, buffer->memory), out = memory->own;
    buffer->adds = bucket->reduced++ > 0;
    if (buffer->adds)
        out.p = buffer->sum;
    store->reduced = buffer->work = reduce_scatter(store, out, all, memory->starts);
}

/* Gradients of parameters that several tensor-parallel ranks have, and each uses for its part of a layer only. */
static void sum_shared(ParamStore *store, const Bucket *bucket)
{
    for (const Param *param = bucket->params; param < bucket->params + bucket->n_params; param++) {
        bool shared =
            param->spec.split == SPLIT_SHARED || (param->spec.split == SPLIT_TOKENS && store->shards.tp.sequence);
        if (shared && tensor_present(param->g))
            tensor_parallel_sum(&store->shards.tp, store->dev, param->g);
        if (param->spec.split == SPLIT_COPIED && tensor_present(param->g))
            tensor_parallel_sum_copies(&store->shards.tp, store->dev, param->g);
    }
}

void shard_reduce(ParamStore *store, int index)
{
    Bucket *bucket = &store->buckets[index];
    const Memory *memory = &bucket->memory[SPAN_TRAINED][REGION_GRADIENTS];
    sum_shared(store, bucket);
    if (store->shards.size == 1)
        return;
    if (shard_cuts(store, bucket, REGION_GRADIENTS)) {
        for (BlockBuffer *buffer = store->gradients; buffer < store->gradients + BLOCK_BUFFERS; buffer++)
            if (buffer->bucket == index && buffer->work == 0)
                reduce_buffer(store, buffer);
        layout_place(store, bucket, REGION_GRADIENTS, NULL);
        return;
    }
    store->reduced = store->shards.level == ZERO_NONE ? all_reduce(store, memory->all)
                                                      : reduce_scatter(store, memory->own, memory->all, memory->starts);
}

void grads_wait(ParamStore *store)
{
    wait_for(store, &store->reduced);
    for (int i = 0; i < BLOCK_BUFFERS; i++)
        finish_reduction(store, &store->gradients[store->gradient_turn++ % BLOCK_BUFFERS]);
}

void params_settle(ParamStore *store)
{
    grads_wait(store);
    for (BlockBuffer *buffer = store->weights; buffer < store->weights + BLOCK_BUFFERS; buffer++)
        wait_for(store, &buffer->work);
    for (Bucket *bucket = store->buckets; bucket < store->buckets + store->n_buckets; bucket++)
        wait_for(store, &bucket->published);
}
