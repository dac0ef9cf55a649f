#include "text/byte_bpe/scratch.h"

struct ScratchPool {
    GMutex mutex;
    GPtrArray *free; /* EncodeScratch * */
};

static void scratch_close(void *opaque)
{
    EncodeScratch *scratch = opaque;
    pre_tokenizer_scratch_close(scratch->pre_tokenizer);
    merges_scratch_close(scratch->merges);
    g_free(scratch->cache);
    g_free(scratch);
}

ScratchPool *scratch_pool_open(void)
{
    ScratchPool *pool = g_new0(ScratchPool, 1);
    g_mutex_init(&pool->mutex);
    pool->free = g_ptr_array_new_with_free_func(scratch_close);
    return pool;
}

void scratch_pool_close(ScratchPool *pool)
{
    g_ptr_array_unref(pool->free);
    g_mutex_clear(&pool->mutex);
    g_free(pool);
}

EncodeScratch *scratch_pool_take(ScratchPool *pool, const PreTokenizer *pre_tokenizer)
{
    g_mutex_lock(&pool->mutex);
    guint n = pool->free->len;
    EncodeScratch *scratch = n > 0 ? g_ptr_array_steal_index_fast(pool->free, n - 1) : NULL;
    g_mutex_unlock(&pool->mutex);
    if (scratch)
        return scratch;
    scratch = g_new0(EncodeScratch, 1);
    scratch->pre_tokenizer = pre_tokenizer_scratch_open(pre_tokenizer);
    scratch->merges = merges_scratch_open();
    scratch->cache = g_new0(CachedWord, CACHED_WORDS);
    return scratch;
}

void scratch_pool_give(ScratchPool *pool, EncodeScratch *scratch)
{
    g_mutex_lock(&pool->mutex);
    g_ptr_array_add(pool->free, scratch);
    g_mutex_unlock(&pool->mutex);
}
