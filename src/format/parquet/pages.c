#include "format/parquet/pages.h"

#include "format/parquet/codecs.h"
#include "format/parquet/page_header.h"

#include <string.h>
#include <zlib.h>

#define HEADER_BYTES      4096                 /* most headers are shorter */
#define MOST_HEADER_BYTES (HEADER_BYTES << 12) /* statistics in a header may hold long texts */
#define MOST_PAGE_BYTES   (1 << 30)
#define MOST_THREADS      4
#define MOST_AHEAD        8                     /* pages of one leaf */
#define MOST_AHEAD_BYTES  ((uint64_t)128 << 20) /* of all pages that are read ahead */

struct PagePool {
    const Metadata *file;
    GThread *threads[MOST_THREADS];
    int n_threads;     /* 0 until a page is read ahead */
    GAsyncQueue *jobs; /* of Page *: those to be read ahead, and &last_page for each thread to end */
    GMutex mutex;      /* guards `done` of pages */
    GCond done;
    uint64_t ahead_bytes;
};

struct PageQueue {
    PagePool *pool;
    guint leaf;
    GQueue pages; /* of Page *: those that follow, which may be read ahead */
    /* The next page that has not been queued: */
    guint group, next_group;
    Chunk chunk;
    int64_t values; /* entries of the chunk in pages that have been queued */
    uint64_t at;    /* in the file */
    GError *error;  /* after the queued pages */
};

void page_free(Page *page)
{
    if (!page)
        return;
    g_clear_error(&page->error);
    g_free(page->data);
    g_free(page);
}

/* ---- reading a page ---- */

/* Bytes of a page at its start that are never compressed. */
static size_t plain_bytes(const Page *page)
{
    return page->kind == PAGE_DATA_2 ? (size_t)(page->repetition_bytes + page->definition_bytes) : 0;
}

static bool check_crc(const Page *page, const char *bytes, GError **error)
{
    return !page->checked || (uint32_t)crc32(0, (const Bytef *)bytes, (uInt)page->compressed_bytes) == page->crc ||
           fail_user(error, "a page is damaged: its checksum (CRC) differs");
}

static bool read_page(const Metadata *file, Page *page, GError **error)
{
    const size_t plain = plain_bytes(page), packed = (size_t)page->compressed_bytes, n = (size_t)page->bytes;
    g_autofree char *bytes = g_malloc(packed + 1);
    if (!metadata_read(file, page->at, bytes, packed, error) || !check_crc(page, bytes, error))
        return false;
    if (packed == n && (!page->compressed || codec_is_none(page->codec))) {
        page->data = g_steal_pointer(&bytes);
        return true;
    }
    page->data = g_malloc(n + 1);
    memcpy(page->data, bytes, plain);
    if (n == plain) /* an empty page may have no compressed bytes at all */
        return true;
    return codec_decompress(page->compressed ? page->codec : 0, bytes + plain, packed - plain, page->data + plain,
                            n - plain, error);
}

static Page last_page;

/* What a thread does. */
static gpointer read_pages(gpointer context)
{
    PagePool *pool = context;
    for (Page *page; (page = g_async_queue_pop(pool->jobs)) != &last_page;) {
        read_page(pool->file, page, &page->error);
        g_mutex_lock(&pool->mutex);
        page->done = true;
        g_cond_broadcast(&pool->done);
        g_mutex_unlock(&pool->mutex);
    }
    return NULL;
}

/* Starts the threads, of which one is enough. */
static bool start_threads(PagePool *pool, GError **error)
{
    const int wanted = MIN((int)g_get_num_processors(), MOST_THREADS);
    g_autoptr(GError) refused = NULL;
    while (pool->n_threads < wanted && !refused) {
        GThread *thread = g_thread_try_new("pages", read_pages, pool, &refused);
        if (thread)
            pool->threads[pool->n_threads++] = thread;
    }
    return pool->n_threads > 0 || fail_machine(error, "threads that decompress pages: %s", refused->message);
}

PagePool *page_pool_new(const Metadata *file)
{
    PagePool *pool = g_new0(PagePool, 1);
    pool->file = file;
    pool->jobs = g_async_queue_new();
    g_mutex_init(&pool->mutex);
    g_cond_init(&pool->done);
    return pool;
}

void page_pool_close(PagePool *pool)
{
    if (!pool)
        return;
    for (int i = 0; i < pool->n_threads; i++)
        g_async_queue_push_front(pool->jobs, &last_page);
    for (int i = 0; i < pool->n_threads; i++)
        g_thread_join(pool->threads[i]);
    g_async_queue_unref(pool->jobs);
    g_mutex_clear(&pool->mutex);
    g_cond_clear(&pool->done);
    g_free(pool);
}

/* ---- the pages of a leaf in their order ---- */

PageQueue *page_queue_open(PagePool *pool, guint leaf)
{
    PageQueue *queue = g_new0(PageQueue, 1);
    queue->pool = pool;
    queue->leaf = leaf;
    g_queue_init(&queue->pages);
    return queue;
}

void page_queue_close(PageQueue *queue)
{
    if (!queue)
        return;
    g_queue_clear_full(&queue->pages, (GDestroyNotify)page_free);
    g_clear_error(&queue->error);
    g_free(queue);
}

/* Reads the header at queue->at, and goes behind it. */
static bool read_header(PageQueue *queue, Page *page, GError **error)
{
    const Metadata *file = queue->pool->file;
    const uint64_t left = file->footer_begin - MIN(file->footer_begin, queue->at);
    for (size_t size = HEADER_BYTES;; size *= 8) {
        const size_t n = (size_t)MIN(left, size);
        g_autofree char *bytes = g_malloc(n + 1);
        if (!metadata_read(file, queue->at, bytes, n, error))
            return false;
        Thrift in = { .at = bytes, .end = bytes + n };
        *page = (Page){ .group = queue->group, .codec = queue->chunk.codec };
        if (page_header_read(&in, page)) {
            queue->at += (uint64_t)(in.at - bytes);
            return true;
        }
        if (n == left || size >= MOST_HEADER_BYTES)
            return fail_user(error, "the header of a page is damaged");
    }
}

/* Enters the next row group that has entries of the leaf, unless pages of this one follow; false at the end of the
 * file, or on an error. */
static bool enter_group(PageQueue *queue, GError **error)
{
    const Metadata *file = queue->pool->file;
    while (queue->values == queue->chunk.values) {
        if (queue->next_group == file->groups->len)
            return false;
        queue->group = queue->next_group++;
        if (!metadata_chunk(file, queue->group, queue->leaf, &queue->chunk, error) ||
            !codec_check(queue->chunk.codec, error))
            return false;
        queue->values = 0;
        queue->at = queue->chunk.begin;
    }
    return true;
}

/* The next page, without its data; NULL at the end of the file, or on an error. */
static Page *find_page(PageQueue *queue, GError **error)
{
    Page page;
    do {
        if (!enter_group(queue, error) || !read_header(queue, &page, error))
            return NULL;
        page.at = queue->at;
        queue->at += (uint64_t)page.compressed_bytes;
        if (page.bytes > MOST_PAGE_BYTES)
            return fail_user(error, "a page of more than 1 GiB");
    } while (page.kind != PAGE_DATA && page.kind != PAGE_DICTIONARY && page.kind != PAGE_DATA_2);
    queue->values += page.kind == PAGE_DICTIONARY ? 0 : page.values;
    if (queue->values > queue->chunk.values)
        return fail_user(error, "its pages have more than the %" G_GINT64_FORMAT " entries that they should have",
                         queue->chunk.values);
    return g_memdup2(&page, sizeof page);
}

/* Appends the next page to the queue; false if there is none. */
static bool append(PageQueue *queue)
{
    Page *page = queue->error ? NULL : find_page(queue, &queue->error);
    if (page)
        g_queue_push_tail(&queue->pages, page);
    return page != NULL;
}

static uint64_t memory_of(const Page *page)
{
    return (uint64_t)page->bytes + (uint64_t)page->compressed_bytes;
}

/* Hands the pages that follow the first one to the threads. */
static bool read_ahead(PageQueue *queue, GError **error)
{
    PagePool *pool = queue->pool;
    while (queue->pages.length <= MOST_AHEAD && pool->ahead_bytes < MOST_AHEAD_BYTES && append(queue)) {
        Page *page = g_queue_peek_tail(&queue->pages);
        if (pool->n_threads == 0 && !start_threads(pool, error))
            return false;
        page->ahead = true;
        pool->ahead_bytes += memory_of(page);
        g_async_queue_push(pool->jobs, page);
    }
    return true;
}

/* Sees to it that the page has been read: by a thread, or here. */
static void finish(PagePool *pool, Page *page)
{
    if (!page->ahead) {
        read_page(pool->file, page, &page->error);
        return;
    }
    g_mutex_lock(&pool->mutex);
    while (!page->done)
        g_cond_wait(&pool->done, &pool->mutex);
    g_mutex_unlock(&pool->mutex);
    pool->ahead_bytes -= memory_of(page);
}

Page *page_queue_next(PageQueue *queue, guint *group, GError **error)
{
    if (queue->pages.length == 0)
        append(queue);
    Page *page = g_queue_peek_head(&queue->pages);
    *group = page ? page->group : queue->group;
    if (!page) {
        if (queue->error)
            g_propagate_error(error, g_steal_pointer(&queue->error));
        return NULL;
    }
    if (!read_ahead(queue, error))
        return NULL;
    g_queue_pop_head(&queue->pages);
    finish(queue->pool, page);
    if (page->error) {
        g_propagate_error(error, g_steal_pointer(&page->error));
        g_clear_pointer(&page, page_free);
    }
    return page;
}
