/* embedder.h: embedding vectors of texts, from an encoder. */
#pragma once

#include "model/model.h"

typedef enum Pooling { POOLING_MEAN, POOLING_FIRST, POOLING_POOLER, POOLING_NONE } Pooling;
extern const char *const pooling_names[]; /* "mean", "first", "pooler", "none", NULL */

/* Runs texts through the encoder in packed batches, without padding. */
typedef struct Embedder Embedder;

/* A text has at most `max_tokens` tokens, a batch at most rows · max_tokens. */
Embedder *embedder_open(Model *model, Pooling pooling, int64_t max_tokens, int64_t rows, GError **error);
void embedder_close(Embedder *embedder);
/* Adds a text to the batch; false, and nothing is done, where it is full. */
bool embedder_add(Embedder *embedder, const int32_t *ids, int64_t n);
int32_t embedder_count(const Embedder *embedder); /* texts in the batch */
/* Runs the batch, which is empty afterwards, and returns its vectors one after another, of the model's width: one per
 * text, or with POOLING_NONE one per token. Valid until the next call. */
const float *embedder_run(Embedder *embedder);
