/* indexed.h: token datasets of two files, PATH.bin (token ids) and PATH.idx (lengths, offsets, documents): Megatron's
 * and fairseq's MMIDIDX format, version 1, read and written byte for byte; and the older TNTIDX format of both, read
 * only. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef enum IndexedDType { INDEXED_U16 = 8, INDEXED_I32 = 4, INDEXED_U32 = 9 } IndexedDType;

/* In fairseq's formats every sequence is a document. */
typedef enum IndexedForm { INDEXED_MEGATRON, INDEXED_FAIRSEQ, INDEXED_LEGACY, INDEXED_LEGACY_FAIRSEQ } IndexedForm;

typedef struct Indexed Indexed; /* read-only; thread-safe */
/* prefix: the path without .bin. Every length, offset and document boundary is checked against the files' sizes. */
Indexed *indexed_open(const char *prefix, GError **error);
void indexed_close(Indexed *set);
/* Restricts the set to documents [first, last), renumbered from 0, as are their sequences. */
void indexed_window(Indexed *set, int64_t first, int64_t last);
IndexedForm indexed_form(const Indexed *set);
int64_t indexed_sequences(const Indexed *set);
int64_t indexed_documents(const Indexed *set);
int64_t indexed_tokens(const Indexed *set);
int32_t indexed_length(const Indexed *set, int64_t sequence);
/* Sequences [first, last) of a document. */
void indexed_document(const Indexed *set, int64_t document, int64_t *first, int64_t *last);
/* Copies tokens [from, from + n) of a sequence as i32; an id that does not fit into i32 becomes -1. Fails where the
 * .bin cannot be read, or has become shorter since it was opened. */
bool indexed_read(const Indexed *set, int64_t sequence, int64_t from, int64_t n, int32_t *out, GError **error);
/* The document that a sequence belongs to: `sequence` is counted in indexed_window, the result in the whole file. */
int64_t indexed_locate(const Indexed *set, int64_t sequence);
/* xxh3 of the .idx, of the first and the last MiB of the .bin, and of the bounds of indexed_window; the top bit is 0.
 */
int64_t indexed_fingerprint(const Indexed *set);
/* The code of the tokens' type in the .idx: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 8 u16; in fairseq's also 9 u32, 10 u64. */
int indexed_dtype(const Indexed *set);

/* Lengths and offsets are kept in a temporary file, so memory is bounded. */
typedef struct IndexedWriter IndexedWriter;
/* Token ids are u16 if vocab < 65500, else i32 in INDEXED_MEGATRON and u32 in INDEXED_FAIRSEQ, which has no ends of
 * documents. The files get their names in indexed_writer_finish. */
IndexedWriter *indexed_writer_open(const char *prefix, IndexedForm form, int64_t vocab, GError **error);
bool indexed_writer_add(IndexedWriter *writer, const int32_t *tokens, int64_t n, GError **error); /* one sequence */
bool indexed_writer_end_document(IndexedWriter *writer, GError **error);
/* Both free the writer; indexed_writer_abort removes its files. */
bool indexed_writer_finish(IndexedWriter *writer, GError **error);
void indexed_writer_abort(IndexedWriter *writer);
