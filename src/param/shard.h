/* shard.h: parameters that several ranks hold together (ZeRO, Rajbhandari et al. 2020). The rows of a bucket's tensors,
 * one after another, are cut into equal parts, one for each rank. Above ZERO_NONE a rank keeps optimizer states and
 * master weights of its part only; at the higher levels also gradients and weights, those of blocks. A bucket outside
 * the blocks (embedding, heads, what a stack shares) is used from the beginning of a pass to its end, so every rank has
 * its weights and gradients whole.
 *
 * Every rank makes the same calls in the same order: many of them exchange something. */
#pragma once

#include "comm/comm.h"
#include "param/param.h"

typedef enum ZeroLevel {
    ZERO_NONE,      /* every rank holds everything; gradients are summed */
    ZERO_STATES,    /* cut: optimizer states and masters. A rank updates its part, then the weights are gathered */
    ZERO_GRADIENTS, /* also gradients of blocks: summed into the parts of the ranks after each microbatch */
    ZERO_WEIGHTS    /* also weights of blocks: gathered one block ahead of use, and forgotten after it */
} ZeroLevel;

typedef struct Sharding {
    Comm *ranks;     /* NULL means that nothing is exchanged: a plan of what one rank of `size` needs */
    int rank, size;  /* size 0 or 1 means one rank, which holds everything */
    ZeroLevel level; /* ignored where there is one rank */
    int first_block; /* this bucket and later ones are blocks; params_open's caller sets it */
} Sharding;

/* params_open for one of several ranks. shards may be NULL: one rank. */
ParamStore *params_open_sharded(Device *dev, const ParamSpec *specs, int n_specs, const int *uses, bool gradients,
                                const Sharding *shards);
/* How the store is spread; size is at least 1. */
Sharding params_sharding(const ParamStore *store);
/* This rank's part of a parameter: rows start[0] … start[0] + shape[0] - 1, perhaps none. With one rank all of it. */
Box params_part(const ParamStore *store, int index);

/* The rows of which params_write keeps something. */
Box params_held(const ParamStore *store, int index);

/* Starts to gather the weights of a block that params_acquire will be called for next. */
void params_prefetch(ParamStore *store, int bucket);
/* After the update of a bucket's part: starts to gather its weights. */
void params_publish(ParamStore *store, int bucket);
/* Waits until the sums of all gradients are there. */
void grads_wait(ParamStore *store);
/* Waits for everything that was begun. */
void params_settle(ParamStore *store);
/* x (n, f64, device memory) = the sum over ranks. */
void params_sum(ParamStore *store, Tensor x);
/* Bytes that this rank has sent for this store. On a device that computes nothing: that it would have sent. */
int64_t params_sent_bytes(const ParamStore *store);
