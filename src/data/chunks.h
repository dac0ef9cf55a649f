/* chunks.h: splits the text of a dataset into chunks of at most raw_length tokens, one per sample. TEXT_CONCATENATED:
 * the documents are concatenated in an order drawn for each epoch, and a chunk starts every raw_length - overlap
 * tokens. TEXT_DOCUMENTS: each document is split separately; chunks of raw_length tokens have the lower numbers and are
 * shuffled in every epoch; the shorter chunks at the end of documents follow. The number of chunks and the length of
 * each are the same in every epoch. */
#pragma once

#include "data/objectives/objectives.h"

typedef struct ChunksSpec {
    ObjectiveText text;
    int64_t raw_length; /* largest number of tokens in a chunk */
    int64_t overlap;    /* TEXT_CONCATENATED: number of tokens that a chunk shares with the next chunk */
    int64_t min_length; /* chunks with fewer tokens are left out */
    int32_t vocab;      /* vocabulary size; an id in the text that is not below it is an error */
    int32_t separator;  /* id put after every document; -1 means none */
    bool without_end;   /* TEXT_DOCUMENTS: the last token of each document is left out */
    uint64_t seed;
    bool in_order;      /* nothing is shuffled: in every epoch chunks have the order of the file */
    ObjectiveCutFn cut; /* TEXT_CONCATENATED: optional, gives the range of each chunk, at most raw_length tokens */
    const ObjectiveConfig *config; /* first argument of `cut`; must outlive the chunks */
} ChunksSpec;

typedef struct Chunks Chunks;
/* Splits a dataset, which must outlive the chunks. Not thread-safe. */
Chunks *chunks_open(const Dataset *data, const ChunksSpec *spec);
void chunks_close(Chunks *chunks);
int64_t chunks_count(const Chunks *chunks);  /* number of chunks in an epoch */
int64_t chunks_tokens(const Chunks *chunks); /* number of tokens in all chunks of an epoch, with separators */
/* Number of tokens in chunk number `chunk` of any epoch. */
int64_t chunks_length(const Chunks *chunks, int64_t chunk);
/* Copies the tokens of a chunk to out (chunks_length(chunk)). */
bool chunks_read(Chunks *chunks, int64_t epoch, int64_t chunk, int32_t *out, GError **error);
/* TEXT_DOCUMENTS: returns the document that contains a chunk. *from, unless `from` is NULL, becomes the index of the
 * chunk's first token within the document. */
int64_t chunks_document(const Chunks *chunks, int64_t epoch, int64_t chunk, int64_t *from);
