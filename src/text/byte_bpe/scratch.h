/* byte_bpe/scratch.h: working memory for encoding with byte-level BPE. One call of encode uses one EncodeScratch and
 * then returns it to a pool, so any number of threads may encode with one model, and cached words are kept. */
#pragma once

#include "text/byte_bpe/merges.h"
#include "text/byte_bpe/pre_tokenizer.h"

#define CACHED_WORDS 32768 /* words in the cache of one EncodeScratch (2 MiB); a power of two */
#define CACHED_BYTES 30
#define CACHED_IDS   8

/* A word and its ids; exactly one cache line of 64 bytes. */
typedef struct CachedWord {
    uint8_t bytes, n_ids; /* bytes 0 means empty */
    char text[CACHED_BYTES];
    int32_t ids[CACHED_IDS];
} CachedWord;

typedef struct EncodeScratch {
    PreTokenizerScratch *pre_tokenizer;
    MergesScratch *merges;
    CachedWord *cache; /* (CACHED_WORDS), indexed by a hash of the word */
} EncodeScratch;

/* Takes a free EncodeScratch from the pool, or makes a new one for this pre-tokenizer. The caller pushes it back to the
 * pool. */
EncodeScratch *encode_scratch_take(GAsyncQueue *pool, const PreTokenizer *pre_tokenizer);
void encode_scratch_close(void *scratch);
