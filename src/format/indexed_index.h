/* indexed_index.h: the four indices that a token dataset may have, read into one view. Shared by indexed.c and
 * indexed_index.c only. */
#pragma once

#include "format/indexed.h"

/* Arrays lie in the mapped .idx; nothing in it is aligned. */
typedef struct IndexView {
    IndexedForm form;
    const char *lengths;   /* (sequences) of length_bytes, tokens each */
    const char *offsets;   /* i64 (sequences) into the .bin, in units of offset_bytes */
    const char *documents; /* i64 (documents + 1), first sequence of each; NULL: every sequence is a document */
    int64_t n_sequences, n_documents;
    int dtype;
    size_t token_bytes, length_bytes, offset_bytes;
    bool plus_one; /* fairseq's legacy files hold every id plus one */
} IndexView;

/* Everything about the index that does not need the .bin. */
bool index_view_read(IndexView *view, const char *idx, size_t bytes, GError **error);

int64_t index_load_i64(const char *array, int64_t i);
int64_t index_length(const IndexView *view, int64_t sequence);
int64_t index_offset(const IndexView *view, int64_t sequence); /* as stored, in units of offset_bytes */
