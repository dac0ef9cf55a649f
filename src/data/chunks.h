/* chunks.h: splits the text of a dataset into chunks of at most raw_length tokens, one per sample. TEXT_CONCATENATED:
 * the documents are concatenated in an order drawn for each epoch, and a chunk starts every raw_length - overlap
 * tokens. TEXT_DOCUMENTS: each document is split separately. Chunks of raw_length tokens come first, shuffled in every
 * epoch; after them come the shorter last chunks of documents. The number of chunks and the length of each are the same
 * in every epoch. */
#pragma once

#include "data/dataset/dataset.h"
#include "data/objectives/objectives.h"

typedef struct ChunksSpec {
    ObjectiveText text;
    int64_t raw_length; /* most tokens in a chunk */
    int64_t overlap;    /* TEXT_CONCATENATED: tokens that a chunk shares with the next one */
    int64_t min_length; /* chunks with fewer tokens are left out */
    int32_t vocab;      /* vocabulary size; a larger id in the text is an error */
    int32_t separator;  /* id put after every document; -1 means none */
    bool without_end;   /* TEXT_DOCUMENTS: the last token of each document is left out */
    uint64_t seed;
    bool in_order;      /* nothing is shuffled: every epoch has the order of the file */
    ObjectiveCutFn cut; /* TEXT_CONCATENATED: callback that gives the bounds of each chunk, of raw_length tokens at
                           most; NULL means none */
    const ObjectiveConfig *config; /* first argument of `cut`; must outlive the chunks */
} ChunksSpec;

typedef struct Chunks Chunks;
/* data must outlive the chunks, which are not thread-safe. */
Chunks *chunks_open(const Dataset *data, const ChunksSpec *spec);
void chunks_close(Chunks *chunks);
int64_t chunks_count(const Chunks *chunks);
int64_t chunks_tokens(const Chunks *chunks); /* tokens of all chunks of an epoch, with separators */
/* Tokens of a chunk. */
int64_t chunks_length(const Chunks *chunks, int64_t chunk);
/* Copies the tokens of a chunk to out (chunks_length). */
bool chunks_read(Chunks *chunks, int64_t epoch, int64_t chunk, int32_t *out, GError **error);
/* TEXT_DOCUMENTS: returns the document that a chunk is from; *from, unless NULL, becomes the chunk's first token,
 * counted within the document. */
int64_t chunks_document(const Chunks *chunks, int64_t epoch, int64_t chunk, int64_t *from);
