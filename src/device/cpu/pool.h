/* pool.h: work stealing: divides work of n equal parts among the threads of a team. Each thread takes its own parts in
 * order; when they are done, it takes the last part of the thread that has most parts left. So a thread on a slow or
 * busy core does less. The results do not depend on the threads' speed if a part's result does not depend on the thread
 * that computes it. */
#pragma once

#include "device/cpu/share.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { POOL_QUEUES = 64 }; /* threads of a larger team share queues */

/* `left`: the parts [begin, end) of a queue that nobody has taken; begin in the low half, end in the high half. */
typedef struct Pool {
    struct {
        _Alignas(64) _Atomic uint64_t left;
    } queues[POOL_QUEUES];
} Pool;

static inline int pool_queues(void)
{
    return omp_get_num_threads() < POOL_QUEUES ? omp_get_num_threads() : POOL_QUEUES;
}

static inline int pool_own_queue(void)
{
    return omp_get_thread_num() % POOL_QUEUES;
}

/* Divides parts [0, n) among the queues, n < 2³². All threads of the team call it; a barrier must come before the first
 * pool_take and after the last. */
static inline void pool_fill(Pool *pool, int64_t n)
{
    int64_t queues = pool_queues(), own = pool_own_queue();
    if (omp_get_thread_num() < queues)
        atomic_store_explicit(&pool->queues[own].left,
                              (uint64_t)(n * own / queues) | (uint64_t)(n * (own + 1) / queues) << 32,
                              memory_order_relaxed);
}

static inline int64_t pool_left(uint64_t left)
{
    return (int64_t)(left >> 32) - (int64_t)(uint32_t)left;
}

/* Takes the first (or the last) part of a queue; -1 if none is left. */
static inline int64_t pool_pop(_Atomic uint64_t *queue, bool first)
{
    uint64_t left = atomic_load_explicit(queue, memory_order_relaxed);
    while (pool_left(left) > 0)
        if (atomic_compare_exchange_weak_explicit(queue, &left, first ? left + 1 : left - ((uint64_t)1 << 32),
                                                  memory_order_relaxed, memory_order_relaxed))
            return first ? (int64_t)(uint32_t)left : (int64_t)(left >> 32) - 1;
    return -1;
}

/* Returns the next part for the calling thread; -1 when all parts are taken. */
static inline int64_t pool_take(Pool *pool)
{
    int64_t part = pool_pop(&pool->queues[pool_own_queue()].left, true);
    while (part < 0) {
        int longest = -1;
        int64_t most = 0;
        for (int i = 0; i < pool_queues(); i++) {
            int64_t left = pool_left(atomic_load_explicit(&pool->queues[i].left, memory_order_relaxed));
            if (left > most) {
                most = left;
                longest = i;
            }
        }
        if (longest < 0)
            return -1;
        part = pool_pop(&pool->queues[longest].left, false);
    }
    return part;
}
