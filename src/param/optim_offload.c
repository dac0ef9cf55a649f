/* optim_offload.c: an optimizer whose states lie in host memory (Precision.offload). States and separate master weights
 * of a bucket are on the device only during the bucket's update, in one of two buffers (stages) that buckets use in
 * turn: while one bucket is updated, the next one is copied to the device and the previous one is copied back. */
#include "param/optim_state.h"

#include <string.h>

/* Buckets with the same stage are updated one after another, so they share its memory. */
static void lay_out_stage(Optimizer *opt, int stage, Arena *arena)
{
    int turn = 0;
    for (OptimBucket *bucket = opt->buckets; bucket < opt->buckets + opt->store->n_buckets; bucket++) {
        if (bucket->n_states == 0 || turn++ % STAGES != stage)
            continue;
        arena_reset(arena, 0);
        bucket->stage = arena->base;
        for (State *state = bucket->states; state < bucket->states + bucket->n_states; state++)
            optim_lay_out_state(opt, state, arena);
        bucket->bytes = arena->used;
        for (State *state = bucket->states; state < bucket->states + bucket->n_states; state++)
            if (param_has_master(state->param))
                state->w =
                    arena_like(arena, opt->store->dev->precision.master, state->param->own[REGION_MASTERS], "masters");
    }
}

bool offload_open(Optimizer *opt)
{
    Device *dev = opt->store->dev;
    size_t bytes = 0;
    for (int stage = 0; stage < STAGES; stage++) {
        Arena arena;
        arena_init(&arena, "optimizer stage", NULL, 0);
        lay_out_stage(opt, stage, &arena);
        size_t room = arena.peak;
        if ((opt->stages[stage] = device_alloc(dev, room)) == NULL)
            return false;
        arena_init(&arena, "optimizer stage", opt->stages[stage], room);
        lay_out_stage(opt, stage, &arena);
        opt->stage_bytes += room;
    }
    for (int b = 0; b < opt->store->n_buckets; b++)
        bytes += opt->buckets[b].bytes;
    char *host = opt->host = device_host_alloc(dev, bytes);
    for (int b = 0; host && b < opt->store->n_buckets; b++) {
        opt->buckets[b].host = host;
        host += opt->buckets[b].bytes;
    }
    if (opt->host && dev->computes)
        memset(opt->host, 0, bytes);
    return opt->host != NULL;
}

void offload_close(Optimizer *opt)
{
    device_settle(opt->store->dev);
    for (int stage = 0; stage < STAGES; stage++)
        device_free(opt->store->dev, opt->stages[stage]);
    device_host_free(opt->store->dev, opt->host);
}

static size_t offload_bytes(Tensor t)
{
    return (size_t)tensor_count(t) * dtype_bytes(t.dtype);
}

/* The stage of a bucket is free when the previous bucket in it has been copied back. */
static void copy_there(const Optimizer *opt, const OptimBucket *bucket)
{
    Device *dev = opt->store->dev;
    device_follow(dev, QUEUE_COPY_TO, QUEUE_COPY_FROM);
    device_copy_to(dev, bucket->stage, bucket->host, bucket->bytes);
    for (const State *state = bucket->states; state < bucket->states + bucket->n_states; state++)
        if (param_has_master(state->param))
            device_copy_to(dev, state->w.p, state->param->own[REGION_MASTERS].p, offload_bytes(state->w));
}

static void copy_back(const Optimizer *opt, const OptimBucket *bucket)
{
    Device *dev = opt->store->dev;
    device_follow(dev, QUEUE_COPY_FROM, QUEUE_WORK);
    device_copy_from(dev, bucket->host, bucket->stage, bucket->bytes);
    for (const State *state = bucket->states; state < bucket->states + bucket->n_states; state++)
        if (param_has_master(state->param))
            device_copy_from(dev, state->param->own[REGION_MASTERS].p, state->w.p, offload_bytes(state->w));
}

/* The first bucket from this one on that has states; NULL means none. */
static const OptimBucket *bucket_from(const Optimizer *opt, const OptimBucket *bucket)
{
    const OptimBucket *end = opt->buckets + opt->store->n_buckets;
    while (bucket < end && bucket->n_states == 0)
        bucket++;
    return bucket < end ? bucket : NULL;
}

void offload_update(const Optimizer *opt)
{
    const OptimBucket *bucket = bucket_from(opt, opt->buckets), *next;
    if (bucket)
        copy_there(opt, bucket);
    for (; bucket; bucket = next) {
        next = bucket_from(opt, bucket + 1);
        device_follow(opt->store->dev, QUEUE_WORK, QUEUE_COPY_TO);
        if (next)
            copy_there(opt, next);
        optimizer_update_bucket(opt, bucket);
        copy_back(opt, bucket);
    }
}

Tensor offload_host(const OptimBucket *bucket, Tensor state)
{
    state.p = bucket->host + ((char *)state.p - bucket->stage);
    return state;
}
