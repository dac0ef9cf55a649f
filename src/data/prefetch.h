/* prefetch.h: makes the batches of a loader in a thread before they are needed. Batches are lent, not copied: a caller
 * may hold any number of batches at once and gives them back in any order. */
#pragma once

#include "data/loader.h"

typedef struct Prefetch Prefetch;

/* The packed sequences that one rank reads: shares of n consecutive ones, each beginning `period` after the one before;
 * between them are the shares of other ranks. n 0 means that the rank reads all. */
typedef struct PrefetchShare {
    int64_t n, period;
} PrefetchShare;

/* Starts a thread that makes up to `depth` batches of n_packed packed sequences in advance. The loader outlives it. */
Prefetch *prefetch_open(Loader *loader, int64_t n_packed, int depth, PrefetchShare share);
/* Changes the share of later calls of prefetch_borrow; batches made in advance are discarded at the next call. */
void prefetch_set_share(Prefetch *prefetch, PrefetchShare share);
/* Stops the thread and frees everything. All batches must have been given back. */
void prefetch_close(Prefetch *prefetch);
/* Lends the batch of packed sequences [first, first + n), n <= n_packed; it does not change until it is given back. The
 * thread then makes the batches that it expects next: each has the n_packed of the share that follow, or the fewer that
 * are left of it. A caller may also borrow others: then batches made in advance are discarded, and a share begins at
 * `first`. NULL on an error. Only one thread may borrow. */
const Batch *prefetch_borrow(Prefetch *prefetch, int64_t first, int64_t n, GError **error);
/* Any thread may give a batch back; NULL is ignored. */
void prefetch_give_back(Prefetch *prefetch, const Batch *batch);
