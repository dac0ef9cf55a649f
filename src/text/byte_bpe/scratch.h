/* byte_bpe/scratch.h: working memory for encoding with byte-level BPE. One call of encode uses one EncodeScratch;
 * between calls it waits in a pool, so that any number of threads may encode with one model and words stay cached. */
#pragma once

#include "text/byte_bpe/merges.h"
#include "text/byte_bpe/pre_tokenizer.h"

#define CACHED_WORDS 32768 /* 2 MiB for each EncodeScratch; a power of two */
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

/* A free EncodeScratch of a pool (EncodeScratch *), or a new one for this pre-tokenizer; to be pushed back to the pool.
 */
EncodeScratch *encode_scratch_take(GAsyncQueue *pool, const PreTokenizer *pre_tokenizer);
void encode_scratch_close(void *scratch);
