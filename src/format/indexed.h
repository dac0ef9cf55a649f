/* indexed.h: token datasets of two files, PATH.bin (token ids) and PATH.idx (lengths, offsets, documents): Megatron's
 * and fairseq's MMIDIDX format, version 1, which is read and written with the same bytes as theirs; and the older
 * TNTIDX format of both, which is only read. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef enum IndexedDType { INDEXED_U16 = 8, INDEXED_I32 = 4, INDEXED_U32 = 9 } IndexedDType;

/* The format of the files. In fairseq's formats every sequence is one document. */
typedef enum IndexedForm { INDEXED_MEGATRON, INDEXED_FAIRSEQ, INDEXED_LEGACY, INDEXED_LEGACY_FAIRSEQ } IndexedForm;

typedef struct Indexed Indexed; /* read-only; thread-safe */
/* prefix: the path without .bin. It is an error if a length, an offset or a document boundary does not fit the sizes of
 * the files. */
Indexed *indexed_open(const char *prefix, GError **error);
void indexed_close(Indexed *set);
/* Restricts the dataset to documents [first, last). These and their sequences are then numbered from 0. */
void indexed_window(Indexed *set, int64_t first, int64_t last);
IndexedForm indexed_form(const Indexed *set);
int64_t indexed_sequences(const Indexed *set);
int64_t indexed_documents(const Indexed *set);
int64_t indexed_tokens(const Indexed *set);
int32_t indexed_length(const Indexed *set, int64_t sequence);
/* *first and *last become the range [first, last) of the document's sequences. */
void indexed_document(const Indexed *set, int64_t document, int64_t *first, int64_t *last);
/* Copies tokens [from, from + n) of a sequence as i32; an id that does not fit into i32 becomes -1. It is an error if
 * the .bin cannot be read, or has become shorter since it was opened. */
bool indexed_read(const Indexed *set, int64_t sequence, int64_t from, int64_t n, int32_t *out, GError **error);
/* The document that holds a sequence. `sequence` is numbered within indexed_window, the result within the whole file.
 */
int64_t indexed_locate(const Indexed *set, int64_t sequence);
/* A hash that identifies the content: xxh3 of the .idx, the first and last MiB of the .bin, and the range of
 * indexed_window; its top bit is 0. */
int64_t indexed_fingerprint(const Indexed *set);
/* The code in the .idx for the integer type of token ids: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 8 u16; in fairseq's formats
 * also 9 u32, 10 u64. */
int indexed_dtype(const Indexed *set);

/* Writes a dataset. Lengths and offsets are kept in a temporary file, so the memory that a writer uses does not grow
 * with the dataset. */
typedef struct IndexedWriter IndexedWriter;
/* form: INDEXED_MEGATRON or INDEXED_FAIRSEQ (which does not store document boundaries). Token ids are stored as u16 if
 * vocab < 65500, otherwise as i32 (Megatron) or u32 (fairseq). The files get their final names in
 * indexed_writer_finish. */
IndexedWriter *indexed_writer_open(const char *prefix, IndexedForm form, int64_t vocab, GError **error);
bool indexed_writer_add(IndexedWriter *writer, const int32_t *tokens, int64_t n,
                        GError **error); /* appends one sequence of n tokens */
bool indexed_writer_end_document(IndexedWriter *writer, GError **error);
/* Both free the writer; indexed_writer_abort removes its files. */
bool indexed_writer_finish(IndexedWriter *writer, GError **error);
void indexed_writer_abort(IndexedWriter *writer);
