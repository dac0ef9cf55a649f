/* prefetch.h: batches of a loader, made ahead by a thread. */
#pragma once

#include "data/loader.h"

/* The same calls served by a thread that works ahead on the guess that the caller goes on where it left off. */
typedef struct Prefetch Prefetch;
Prefetch *prefetch_open(Loader *loader, int64_t batch_samples, int depth);
void prefetch_close(Prefetch *prefetch);
/* *out stays valid until the next call. */
bool prefetch_get(Prefetch *prefetch, int64_t first, int64_t n, const Batch **out, GError **error);
