#include "text/byte_bpe/scratch.h"

void encode_scratch_close(void *opaque)
{
    EncodeScratch *scratch = opaque;
    pre_tokenizer_scratch_close(scratch->pre_tokenizer);
    merges_scratch_close(scratch->merges);
    g_free(scratch->cache);
    g_free(scratch);
}

EncodeScratch *encode_scratch_take(GAsyncQueue *pool, const PreTokenizer *pre_tokenizer)
{
    EncodeScratch *scratch = g_async_queue_try_pop(pool);
    if (scratch)
        return scratch;
    scratch = g_new(EncodeScratch, 1);
    *scratch = (EncodeScratch){ .pre_tokenizer = pre_tokenizer_scratch_open(pre_tokenizer),
                                .merges = merges_scratch_open(),
                                .cache = g_new0(CachedWord, CACHED_WORDS) };
    return scratch;
}
