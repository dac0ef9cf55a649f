/* indexed_index.h: the arrays of the .idx of a token dataset, in the same form for all formats of IndexedForm. Only for
 * indexed.c and indexed_index.c. */
#pragma once

#include "format/indexed.h"

/* The arrays of an .idx. Pointers are addresses in the mapped file, at any alignment. */
typedef struct IndexView {
    IndexedForm form;
    const char *lengths;   /* (n_sequences) integers of length_bytes bytes: number of tokens of each sequence */
    const char *offsets;   /* (n_sequences) i64: start of each sequence in the .bin, in units of offset_bytes bytes */
    const char *documents; /* (n_documents + 1) i64: first sequence of each document; NULL means that every sequence is
                              one document */
    int64_t n_sequences, n_documents;
    int dtype; /* as indexed_dtype */
    size_t token_bytes, length_bytes, offset_bytes;
    bool plus_one; /* stored ids are 1 larger than token ids, as in fairseq's TNTIDX format */
} IndexView;

/* Reads the content of an .idx and checks everything that can be checked without the .bin. */
bool index_view_read(IndexView *view, const char *idx, size_t bytes, GError **error);

/* Element i of an array of i64, which may have any alignment. */
int64_t index_load_i64(const char *array, int64_t i);
int64_t index_length(const IndexView *view, int64_t sequence);
int64_t index_offset(const IndexView *view, int64_t sequence); /* as stored: in units of offset_bytes bytes */
