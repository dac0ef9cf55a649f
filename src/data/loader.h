/* loader.h: batches as a function of the sample's index. Epoch e of a dataset is its documents in an order drawn from
 * (seed, e), concatenated without separators and cut into raw_length pieces (the last one shorter); the pieces are
 * visited in an order drawn from (seed, e) too. Sample i is piece (i mod n) of epoch (i div n). Resume, prefetch and a
 * changed batch size need no state. */
#pragma once

#include "base/options.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/objective.h"
#include "text/tokenizer.h"

typedef struct DataConfig {
    char *train, *valid; /* dataset prefixes */
    int objective;
    int64_t input_length, target_length;
    double noise_density, mean_span_length;
} DataConfig;
extern const OptionRow data_options[]; /* "data.*" */
extern const int n_data_options;

typedef struct Loader Loader;
/* The dataset must have been made with this tokenizer (hashes differ: an error that names both). `in_order`: held-out
 * data, epoch 0 in the file's order, masks fixed by the sample's index. tok must outlive the loader. */
Loader *loader_open(const DataConfig *config, const char *prefix, const Tokenizer *tok, uint64_t seed, bool in_order,
                    GError **error);
void loader_close(Loader *loader);
int64_t loader_epoch_samples(const Loader *loader, int64_t epoch); /* the same for every epoch */
const ObjectiveConfig *loader_objective(const Loader *loader);     /* lengths after planning */
/* Tells datasets apart: lengths, document boundaries and the start of the tokens. A run goes on only with the one it
 * had. */
int64_t loader_fingerprint(const Loader *loader);
int64_t loader_raw_tokens(const Loader *loader); /* tokens of one epoch */
/* Samples [first, first + n) packed into `out` (cleared first). A function, not an iterator. */
bool loader_get(Loader *loader, int64_t first, int64_t n, Batch *out, GError **error);

/* The same calls served by a thread that works ahead on the guess that the caller goes on where it left off. */
typedef struct Prefetch Prefetch;
Prefetch *prefetch_open(Loader *loader, int64_t batch_samples, int depth);
void prefetch_close(Prefetch *prefetch);
/* *out stays valid until the next call. */
bool prefetch_get(Prefetch *prefetch, int64_t first, int64_t n, const Batch **out, GError **error);
