/* pool.h: work stealing: divides work of n equal parts among the threads of an OpenMP team. Each thread has a queue of
 * parts and takes them in order; when its queue is empty, it takes the last part of the longest queue. So a thread on a
 * slow or busy core does fewer parts. Results do not depend on the speed of the threads as long as the result of a part
 * does not depend on the thread that computes it. */
#pragma once

#include "device/cpu/share.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { POOL_QUEUES = 64 }; /* largest number of queues; the threads of a larger team share queues */

/* The queues. `left`: the parts [begin, end) of a queue that no thread has taken yet, with begin in the low half and
 * end in the high half. */
typedef struct Pool {
    struct {
        _Alignas(64) _Atomic uint64_t left;
    } queues[POOL_QUEUES];
} Pool;

/* The number of queues of the team. */
static inline int pool_queues(void)
{
    return omp_get_num_threads() < POOL_QUEUES ? omp_get_num_threads() : POOL_QUEUES;
}

/* The queue of the calling thread. */
static inline int pool_own_queue(void)
{
    return omp_get_thread_num() % POOL_QUEUES;
}

/* Divides parts [0, n) among the queues, n < 2³². Every thread of the team calls it. The team needs a barrier between
 * pool_fill and the first pool_take, and between the last pool_take and the next pool_fill. */
static inline void pool_fill(Pool *pool, int64_t n)
{
    int64_t queues = pool_queues(), own = pool_own_queue();
    if (omp_get_thread_num() < queues)
        atomic_store_explicit(&pool->queues[own].left,
                              (uint64_t)(n * own / queues) | (uint64_t)(n * (own + 1) / queues) << 32,
                              memory_order_relaxed);
}

/* The number of parts in a queue. */
static inline int64_t pool_left(uint64_t left)
{
    return (int64_t)(left >> 32) - (int64_t)(uint32_t)left;
}

/* Takes the first part of a queue, or with `first` false the last part; -1 if the queue is empty. */
static inline int64_t pool_pop(_Atomic uint64_t *queue, bool first)
{
    uint64_t left = atomic_load_explicit(queue, memory_order_relaxed);
    while (pool_left(left) > 0)
        if (atomic_compare_exchange_weak_explicit(queue, &left, first ? left + 1 : left - ((uint64_t)1 << 32),
                                                  memory_order_relaxed, memory_order_relaxed))
            return first ? (int64_t)(uint32_t)left : (int64_t)(left >> 32) - 1;
    return -1;
}

/* Takes the next part for the calling thread and returns its number; -1 when all parts are taken. */
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
