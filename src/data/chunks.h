/* chunks.h: the text of a dataset, cut into chunks of at most raw_length tokens, one for each sample.
 * TEXT_CONCATENATED: the documents of an epoch, in an order drawn for that epoch, are joined and cut every raw_length -
 * overlap tokens. TEXT_DOCUMENTS: each document is cut by itself; the chunks of raw_length tokens have the lower
 * numbers, shuffled in every epoch, and the shorter last chunks of the documents the higher ones. The number of chunks
 * and the length of each are the same in every epoch. */
#pragma once

#include "data/dataset/dataset.h"
#include "data/objectives/objectives.h"

typedef struct ChunksSpec {
    ObjectiveText text;
    int64_t raw_length; /* tokens of a chunk at most */
    int64_t overlap;    /* TEXT_CONCATENATED: tokens that a chunk shares with the next one */
    int64_t min_length; /* chunks with fewer tokens are left out */
    int32_t vocab;      /* vocabulary size; ids not below it are errors */
    int32_t separator;  /* id put after every document; -1 means none */
    bool without_end;   /* TEXT_DOCUMENTS: the last token of each document is left out */
    uint64_t seed;
    bool in_order;                 /* the order of the file in every epoch, nothing is shuffled */
    ObjectiveCutFn cut;            /* TEXT_CONCATENATED: NULL, or a callback that gives the bounds of each chunk, of
                                      raw_length tokens at most */
    const ObjectiveConfig *config; /* first argument of `cut`; must outlive the chunks */
} ChunksSpec;

typedef struct Chunks Chunks;
/* data must outlive the chunks, which are not thread-safe. */
Chunks *chunks_open(const Dataset *data, const ChunksSpec *spec);
void chunks_close(Chunks *chunks);
int64_t chunks_count(const Chunks *chunks);
int64_t chunks_tokens(const Chunks *chunks); /* tokens of an epoch, separators included */
int64_t chunks_length(const Chunks *chunks, int64_t chunk);
/* Copies the chunks_length tokens of a chunk. */
bool chunks_read(Chunks *chunks, int64_t epoch, int64_t chunk, int32_t *out, GError **error);
/* TEXT_DOCUMENTS: the document of a chunk, and in *from (unless NULL) the token of the document that the chunk starts
 * at. */
int64_t chunks_document(const Chunks *chunks, int64_t epoch, int64_t chunk, int64_t *from);
