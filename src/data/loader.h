/* loader.h: batches as a function of the row's index. Row i of an objective whose samples fill their rows is piece
 * (i mod n) of epoch (i div n), visited in an order drawn from (seed, epoch); the row is the sample. Shorter samples
 * are packed: the lengths of all samples of an epoch are known when the loader opens and are the same in every epoch,
 * so one plan (pack.h) says which samples share row (i mod rows). With data.compat, row i is a sample of a reference
 * system's order (compat.h). Resume, prefetch and a changed batch size need no state. */
#pragma once

#include "data/batch.h"
#include "data/data_config.h"
#include "data/dataset/dataset.h"
#include "text/tokenizer.h"

typedef struct Loader Loader;
/* The dataset must have been made with this tokenizer (hashes differ: an error that names both). `held_out`: data
 * to evaluate on, cut in the file's order; every epoch is the same, its rows in an order drawn by a hash of their
 * number alone, so that the first n rows stand for the whole dataset; masks depend on the seed and the sample. With
 * data.compat the order is the reference system's. tok must outlive the loader. */
Loader *loader_open(const DataConfig *config, const char *prefix, const Tokenizer *tok, uint64_t seed, bool held_out,
                    GError **error);
void loader_close(Loader *loader);
/* The id that the decoder reads first, where it is not the tokenizer's padding; before any batch. */
void loader_start_decoder(Loader *loader, int32_t id);
int64_t loader_epoch_samples(const Loader *loader, int64_t epoch); /* rows; the same for every epoch */
const ObjectiveConfig *loader_objective(const Loader *loader);     /* lengths after planning */
/* Tells datasets apart: lengths, document boundaries and the start of the tokens. A run goes on only with the one it
 * had. */
int64_t loader_fingerprint(const Loader *loader);
int64_t loader_raw_tokens(const Loader *loader); /* tokens of one epoch */
/* The datasets of a mixture, or the one there is. */
typedef struct LoaderPart {
    const char *prefix;
    double share;         /* of the rows */
    int64_t rows, tokens; /* of an epoch of this dataset */
} LoaderPart;
int loader_parts(const Loader *loader);
LoaderPart loader_part(const Loader *loader, int part);
/* Tokens a row of either stream has room for; 0: the objective does without that stream. */
int32_t loader_enc_length(const Loader *loader);
int32_t loader_dec_length(const Loader *loader);
Batch *loader_batch(const Loader *loader, int32_t rows); /* an empty batch of the right form */
/* Rows [first, first + n) into `out` (cleared first). A function, not an iterator. */
bool loader_get(Loader *loader, int64_t first, int64_t n, Batch *out, GError **error);
