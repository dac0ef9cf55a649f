/* loader.h: batches as a function of an index. A batch consists of packed sequences (`rows` in code), which have an
 * index over the whole run: packed sequence i is number (i mod n) of epoch (i div n), n = loader_epoch_samples, visited
 * in an order drawn from (seed, epoch). Long samples fill one each. Shorter ones are packed: their lengths are known
 * when the loader opens and the same in every epoch, so one plan (pack.h) says which samples share one. With
 * data.compat, number i is sample i of a reference system's order (compat/compat.h). Resume, prefetching and a changed
 * batch size therefore need no state. */
#pragma once

#include "data/batch.h"
#include "data/data_config.h"
#include "data/dataset/dataset.h"
#include "text/tokenizer.h"

typedef struct Loader Loader;
/* path: a dataset (dataset_open), or a list of them (mixture_parse). A dataset made with another tokenizer than `tok`
 * is an error that names both. held_out: data to evaluate on: every epoch is the same, text is cut in the order of the
 * file, masks depend on the seed and the sample alone, and the order of packed sequences is drawn by a hash of their
 * index alone, so that the first n stand for the whole dataset in every run. tok must outlive the loader. */
Loader *loader_open(const DataConfig *config, const char *path, const Tokenizer *tok, uint64_t seed, bool held_out,
                    GError **error);
void loader_close(Loader *loader);
/* Adds to `counts` (classes) how often each class is a label in the documents of a loader of labels, each document of
 * each dataset counted once. */
bool loader_count_labels(const Loader *loader, int64_t *counts, GError **error);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Loader, loader_close)
/* Sets the id before the targets in the decoder's stream, which is the tokenizer's padding otherwise. To be called
 * before the first batch. */
void loader_start_decoder(Loader *loader, int32_t id);
/* Packed sequences of an epoch, which options such as train.batch count as samples. */
int64_t loader_epoch_samples(const Loader *loader);
/* The share of the tokens that the packed sequences of an epoch have room for that are taken; of samples that are not
 * packed it is 1. */
double loader_fill(const Loader *loader);
/* The objective's configuration, after Objective.plan. */
const ObjectiveConfig *loader_objective(const Loader *loader);
/* A hash of the datasets (indexed_fingerprint): a resumed run must have the same. */
int64_t loader_fingerprint(const Loader *loader);
int64_t loader_raw_tokens(const Loader *loader); /* tokens of text of one epoch */

/* A dataset of a mixture. */
typedef struct LoaderPart {
    const char *path;     /* of the dataset */
    double share;         /* share of the packed sequences of the run */
    int64_t rows, tokens; /* packed sequences and tokens of an epoch of this dataset */
} LoaderPart;
/* Number of datasets; 1 without a mixture. */
int loader_parts(const Loader *loader);
LoaderPart loader_part(const Loader *loader, int part);

/* Tokens of a packed sequence of the encoder's and the decoder's stream; 0 means that there is no such stream. */
int32_t loader_enc_length(const Loader *loader);
int32_t loader_dec_length(const Loader *loader);
/* An empty batch with room for any `rows` packed sequences. */
Batch *loader_batch(const Loader *loader, int32_t rows);
/* Clears `out` and fills it with packed sequences [first, first + n). Thread-safe. */
bool loader_get(Loader *loader, int64_t first, int64_t n, Batch *out, GError **error);
