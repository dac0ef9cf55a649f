/* embedder.h: computes embeddings (vectors) of texts from the hidden states of an encoder. */
#pragma once

#include "model/model.h"

/* How the hidden states h_1 … h_n of a text become its vector. */
typedef enum Pooling {
    POOLING_MEAN,
    POOLING_FIRST,    /* h_1 */
    POOLING_POOLER,   /* the output of BERT's pooler */
    POOLING_NONE,     /* one vector per token */
    POOLING_LAST,     /* h_n */
    POOLING_MAX,      /* the maximum of each channel */
    POOLING_SQRT,     /* Σ h_i / √n */
    POOLING_WEIGHTED, /* Σ i h_i / Σ i */
} Pooling;
extern const char *const pooling_names[]; /* the names in this order, then NULL */

/* A batch of texts, packed without padding. */
typedef struct Embedder Embedder;

/* Opens an Embedder for texts of at most max_tokens tokens; a batch holds texts_per_batch × max_tokens tokens. */
Embedder *embedder_open(Model *model, Pooling pooling, int64_t max_tokens, int64_t texts_per_batch, GError **error);
void embedder_close(Embedder *embedder);
/* Adds a text to the batch. Returns false and changes nothing if the batch has no room for it. */
bool embedder_add(Embedder *embedder, const int32_t *ids, int64_t n);
/* Encodes the batch and empties it. Returns vectors (texts, C) in the order of embedder_add, or (tokens, C) with
 * POOLING_NONE. The memory belongs to the embedder and is valid until the next call. */
const float *embedder_run(Embedder *embedder);
