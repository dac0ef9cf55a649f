/* prefetch.h: the batches of a loader, made ahead of their use by a thread. Batches are lent, not copied: a caller may
 * hold any number of them and gives them back in any order. */
#pragma once

#include "data/loader.h"

typedef struct Prefetch Prefetch;

/* Which rows a caller asks for: `rows` in a row, then the next period − rows are those of others, and so on: the part
 * of one rank in the batches of all. rows 0 means all rows. */
typedef struct PrefetchShare {
    int64_t rows, period;
} PrefetchShare;

/* Up to `depth` batches of n_rows rows are made ahead. The loader must outlive the prefetcher. */
Prefetch *prefetch_open(Loader *loader, int64_t n_rows, int depth, PrefetchShare share);
/* All batches must have been given back. */
void prefetch_close(Prefetch *prefetch);
/* Lends the batch of rows [first, first + n), n <= n_rows, which stays as it is until it is given back. The thread
 * works on from there, expecting the next call to ask for the n_rows rows of the share that follow, or for what is left
 * of it. Any other call is served too, and begins a share; the batches made ahead are then lost. NULL on an error. Only
 * one thread may borrow. */
const Batch *prefetch_borrow(Prefetch *prefetch, int64_t first, int64_t n, GError **error);
/* Any thread may give a batch back; NULL is ignored. */
void prefetch_give_back(Prefetch *prefetch, const Batch *batch);
