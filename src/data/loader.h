/* loader.h: computes batches as a function of an index, without state. A batch consists of packed sequences (`rows` in
 * code), which are numbered over the whole run: packed sequence i is number (i mod n) of epoch (i div n), where n =
 * loader_epoch_samples; epochs are shuffled by (seed, epoch). A sample of full length is one packed sequence. Shorter
 * samples are packed: their lengths are known when the loader opens and are the same in every epoch, so one plan
 * (pack.h) for all epochs says which samples share a packed sequence. With data.compat, packed sequence i is sample i
 * in the order of a reference system (compat/compat.h). So resuming, prefetching and changing the batch size need no
 * saved state. */
#pragma once

#include "data/batch.h"
#include "data/data_config.h"
#include "data/dataset/dataset.h"
#include "text/tokenizer.h"

typedef struct Loader Loader;
/* path: a dataset (dataset_open) or a list of datasets (mixture_parse). It is an error if a dataset was made with
 * another tokenizer than `tok`. held_out: evaluation data. Every epoch is then the same: text is split in the order of
 * the file, masks depend only on seed and sample, and packed sequences are ordered by a hash of their index, so that
 * the first n are the same representative subset in every run. tok must outlive the loader. */
Loader *loader_open(const DataConfig *config, const char *path, const Tokenizer *tok, uint64_t seed, bool held_out,
                    GError **error);
void loader_close(Loader *loader);
/* For labelled data: adds to `counts` (number of classes) how often each class is a label, counting each document of
 * each dataset once. */
bool loader_count_labels(const Loader *loader, int64_t *counts, GError **error);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Loader, loader_close)
/* Sets the id that starts the decoder's stream (decoder_start_token_id); the default is the tokenizer's padding. To be
 * called before the first batch. */
void loader_start_decoder(Loader *loader, int32_t id);
/* Number of packed sequences of an epoch; options such as train.batch count them as samples. */
int64_t loader_epoch_samples(const Loader *loader);
/* Packing efficiency: tokens of the samples of an epoch / capacity of its packed sequences, between 0 and 1; 1 if
 * samples are not packed. */
double loader_fill(const Loader *loader);
/* The objective's configuration, after Objective.plan. */
const ObjectiveConfig *loader_objective(const Loader *loader);
/* A hash of the datasets (indexed_fingerprint): a resumed run must have the same hash. */
int64_t loader_fingerprint(const Loader *loader);
int64_t loader_raw_tokens(const Loader *loader); /* tokens of the text of one epoch, before the objective */

/* A dataset of a mixture. */
typedef struct LoaderPart {
    const char *path;     /* path of the dataset */
    double share;         /* fraction of the packed sequences of the run that are of this dataset */
    int64_t rows, tokens; /* packed sequences and tokens of an epoch of this dataset */
} LoaderPart;
/* Number of datasets; 1 without a mixture. */
int loader_parts(const Loader *loader);
LoaderPart loader_part(const Loader *loader, int part);

/* Capacity of a packed sequence, in tokens of the encoder's and of the decoder's stream; 0 means that the objective
 * does not fill this stream. */
int32_t loader_enc_length(const Loader *loader);
int32_t loader_dec_length(const Loader *loader);
/* An empty batch with capacity for any `rows` packed sequences. */
Batch *loader_batch(const Loader *loader, int32_t rows);
/* Clears `out` and fills it with packed sequences [first, first + n). Thread-safe. */
bool loader_get(Loader *loader, int64_t first, int64_t n, Batch *out, GError **error);
