/* indexed_index.h: one view of the .idx of a token dataset, whichever of the four formats of IndexedForm it has. Only
 * for indexed.c and indexed_index.c. */
#pragma once

#include "format/indexed.h"

/* The arrays of an .idx. Pointers are addresses in the mapped file, at any alignment. */
typedef struct IndexView {
    IndexedForm form;
    const char *lengths;   /* (n_sequences) integers of length_bytes: tokens of each sequence */
    const char *offsets;   /* (n_sequences) i64: start of each sequence in the .bin, in units of offset_bytes */
    const char *documents; /* (n_documents + 1) i64: first sequence of each document; NULL means that every sequence is
                              one document */
    int64_t n_sequences, n_documents;
    int dtype;
    size_t token_bytes, length_bytes, offset_bytes;
    bool plus_one; /* stored ids are one too large, as in fairseq's TNTIDX format */
} IndexView;

/* Reads the index and checks everything that can be checked without the .bin. */
bool index_view_read(IndexView *view, const char *idx, size_t bytes, GError **error);

/* Element i of an array of i64 at any alignment. */
int64_t index_load_i64(const char *array, int64_t i);
int64_t index_length(const IndexView *view, int64_t sequence);
int64_t index_offset(const IndexView *view, int64_t sequence); /* as stored, in units of offset_bytes */
