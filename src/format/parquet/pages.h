/* pages.h: the pages of a leaf, one after another through all row groups. Threads read and decompress the next ones
 * ahead; their order never changes. */
#pragma once

#include "format/parquet/metadata.h"

/* The threads that all leaves of a file share; they start with the first page that is read ahead. */
typedef struct PagePool PagePool;
PagePool *page_pool_new(const Metadata *file);
/* Waits for the pages that are being read. Their PageQueues are to be closed afterwards. */
void page_pool_close(PagePool *pool);

typedef enum PageKind { PAGE_DATA, PAGE_INDEX, PAGE_DICTIONARY, PAGE_DATA_2 } PageKind;

typedef struct Page {
    guint group;
    int kind, encoding, codec;
    int32_t bytes, compressed_bytes; /* its length, and that on disk */
    int32_t values;                  /* entries; of a dictionary its values */
    /* Levels. PAGE_DATA: their encodings; PAGE_DATA_2: their lengths in bytes. */
    int repetition_encoding, definition_encoding;
    int32_t repetition_bytes, definition_bytes;
    bool compressed; /* the values; PAGE_DATA_2 may have them uncompressed in a chunk that is compressed */
    bool checked;    /* it has a CRC */
    uint32_t crc;
    uint64_t at; /* where it begins in the file, after its header */
    /* What a thread makes: */
    char *data; /* `bytes` bytes */
    GError *error;
    bool ahead, done; /* a thread reads it; it has been read */
} Page;
void page_free(Page *page);

typedef struct PageQueue PageQueue;
PageQueue *page_queue_open(PagePool *pool, guint leaf);
void page_queue_close(PageQueue *queue);
/* The next page, which the caller frees; NULL at the end of the file (error unset), or on an error, which does not name
 * the column. *group becomes the row group of the page, or of the error. */
Page *page_queue_next(PageQueue *queue, guint *group, GError **error);
