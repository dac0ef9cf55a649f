/* byte_bpe/scratch.h: working memory for encoding with byte-level BPE. A call of encode takes one EncodeScratch from a
 * pool and returns it afterwards, so that any number of threads may encode with one model, and the cache of words is
 * kept. */
#pragma once

#include "text/byte_bpe/pre_tokenizer.h"
#include "text/merges.h"

#define CACHED_WORDS 32768 /* number of words in the cache of one EncodeScratch (2 MiB); a power of two */
#define CACHED_BYTES 30    /* only words of at most this length are cached */
#define CACHED_IDS   8     /* only words of at most this number of ids are cached */

/* A word and its ids; exactly one cache line of 64 bytes. */
typedef struct CachedWord {
    uint8_t bytes, n_ids; /* lengths of text and ids; bytes 0 means an empty entry */
    char text[CACHED_BYTES];
    int32_t ids[CACHED_IDS];
} CachedWord;

typedef struct EncodeScratch {
    PreTokenizerScratch *pre_tokenizer;
    MergesScratch *merges;
    CachedWord *cache; /* (CACHED_WORDS), indexed by a hash of the word */
} EncodeScratch;

/* Takes an EncodeScratch from the pool, or makes a new one for this pre-tokenizer if the pool is empty. The caller
 * pushes it back to the pool. */
EncodeScratch *encode_scratch_take(GAsyncQueue *pool, const PreTokenizer *pre_tokenizer);
void encode_scratch_close(void *scratch);
