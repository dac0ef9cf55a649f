/* prefetch.h: a thread that makes the batches of a loader before they are needed. Batches are lent, not copied: a
 * caller may hold any number of batches and gives them back in any order. */
#pragma once

#include "data/loader.h"

typedef struct Prefetch Prefetch;

/* The packed sequences (rows) of one rank: of every `period` consecutive rows it takes the first `rows` after its
 * start; other ranks take the rest. rows 0 means all rows. */
typedef struct PrefetchShare {
    int64_t rows, period;
} PrefetchShare;

/* Starts a thread that makes up to `depth` batches of n_rows rows in advance. The loader must outlive the Prefetch. */
Prefetch *prefetch_open(Loader *loader, int64_t n_rows, int depth, PrefetchShare share);
/* All batches must have been given back. */
void prefetch_close(Prefetch *prefetch);
/* Lends the batch of rows [first, first + n), n <= n_rows; it does not change until it is given back. The thread then
 * prepares the rows that it expects next: the following n_rows rows of the share, or the rest of the share. A call for
 * other rows works too: it starts a share at `first`, and batches made in advance are discarded. NULL on an error. Only
 * one thread may borrow. */
const Batch *prefetch_borrow(Prefetch *prefetch, int64_t first, int64_t n, GError **error);
/* Any thread may give a batch back; NULL is ignored. */
void prefetch_give_back(Prefetch *prefetch, const Batch *batch);
