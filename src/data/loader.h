/* loader.h: computes batches as a function of an index, without state, so that resuming, prefetching and changing the
 * batch size need none. A step that begins when the run has read `first` samples (TrainState.samples) reads packed
 * sequences first, first + 1, …, numbered over the whole run. From the number i of one to its tokens:
 *
 *   k, i    = mixture_at(i)           of a mixture: the dataset, and the number among its packed sequences
 *   e, at   = i div n, i mod n        epoch and place in it; n = loader_epoch_packed; e = 0 for held-out data
 *   chunks  = epoch_plan_get(e, at)   where samples are packed: those that share this packed sequence
 *   chunks  = { permutation(e, at) }  where a sample has full length: one, in an order drawn from (seed, e)
 *   text    = chunks_read(e, chunk)   of each: a piece of a document, or of all documents in the order of e
 *   sample  = objective.apply(text)   with random numbers of (seed, number of the sample over all epochs)
 *
 * The lengths of samples are known when the loader opens and are the same in every epoch, so one plan (epoch_plan.h)
 * serves all. With data.compat, packed sequence i is sample i in the order of another program (compat/compat.h). */
#pragma once

#include "data/batch.h"
#include "data/data_config.h"

typedef struct Loader Loader;
/* Opens a loader. path: a dataset (dataset_open) or a list of datasets (mixture_parse). It is an error if a dataset was
 * made with another tokenizer than `tok`, which must outlive the loader. held_out: true for evaluation data. Then every
 * epoch is the same: text is split in the order of the file, masks depend only on seed and sample, and packed sequences
 * are ordered by a hash of their index, so that the first n are a random subset of the set, the same in every run. */
Loader *loader_open(const DataConfig *config, const char *path, const Tokenizer *tok, uint64_t seed, bool held_out,
                    GError **error);
/* Another owner of the same loader, such as a second rank that is a thread of this process: returns `loader`, which is
 * freed when every owner has closed it. */
Loader *loader_share(Loader *loader);
void loader_close(Loader *loader);
/* For labelled data: adds to `counts` (classes) how often each class is a label, in one pass over each dataset. */
bool loader_count_labels(const Loader *loader, int64_t *counts, GError **error);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Loader, loader_close)
/* Sets the id that starts the decoder's stream (decoder_start_token_id); the default is the tokenizer's padding. Call
 * it before the first batch is made. */
void loader_start_decoder(Loader *loader, int32_t id);
/* Number of packed sequences of an epoch; options such as train.batch count them as samples. */
int64_t loader_epoch_packed(const Loader *loader);
/* Packing efficiency, between 0 and 1: number of tokens in the samples of an epoch / capacity of the epoch's packed
 * sequences; 1 if samples are not packed. Estimated for a large dataset (epoch_plan_fill). */
double loader_fill(const Loader *loader);
/* The same of the input (epoch_plan_input_fill), whose tokens a run counts. */
double loader_input_fill(const Loader *loader);
/* The configuration of the objective, completed by Objective.plan. */
const ObjectiveConfig *loader_objective(const Loader *loader);
/* A hash of the datasets (indexed_fingerprint): a resumed run must have the same hash. */
int64_t loader_fingerprint(const Loader *loader);
int64_t
loader_raw_tokens(const Loader *loader); /* number of tokens of text in one epoch, before the objective masks them */

/* A dataset of a mixture. */
typedef struct LoaderDataset {
    const char *path;       /* path of the dataset */
    double share;           /* fraction of the packed sequences of the run that are of this dataset */
    int64_t packed, tokens; /* packed sequences and tokens of an epoch of this dataset */
} LoaderDataset;
/* Number of datasets, 1 without a mixture, and dataset number `part`, counted from 0. */
int loader_datasets(const Loader *loader);
LoaderDataset loader_dataset(const Loader *loader, int part);

/* Capacity of a packed sequence in the encoder's and the decoder's stream, in tokens; 0 means an unused stream. */
int32_t loader_enc_length(const Loader *loader);
int32_t loader_dec_length(const Loader *loader);
/* An empty batch with capacity for any n_packed packed sequences. */
Batch *loader_batch(const Loader *loader, int32_t n_packed);
/* Clears `out` and fills it with packed sequences [first, first + n). Thread-safe. */
bool loader_get(Loader *loader, int64_t first, int64_t n, Batch *out, GError **error);
