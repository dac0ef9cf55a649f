/* indexed.h: token datasets, PREFIX.bin and PREFIX.idx: Megatron's and fairseq's (MMIDIDX version 1, read and written
 * byte for byte), and the TNTIDX form of both from before (read). */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef enum IndexedDType { INDEXED_U16 = 8, INDEXED_I32 = 4, INDEXED_U32 = 9 } IndexedDType;

/* fairseq's forms know no documents: every sequence is one. */
typedef enum IndexedForm { INDEXED_MEGATRON, INDEXED_FAIRSEQ, INDEXED_LEGACY, INDEXED_LEGACY_FAIRSEQ } IndexedForm;

typedef struct Indexed Indexed; /* read-only; thread-safe */
/* Every length, offset and document boundary is checked against the files' sizes. */
Indexed *indexed_open(const char *prefix, GError **error);
void indexed_close(Indexed *set);
/* From now on the set holds documents [first, last) alone, numbered from 0 like their sequences. */
void indexed_window(Indexed *set, int64_t first, int64_t last);
IndexedForm indexed_form(const Indexed *set);
int64_t indexed_sequences(const Indexed *set);
int64_t indexed_documents(const Indexed *set);
int64_t indexed_tokens(const Indexed *set);
int32_t indexed_length(const Indexed *set, int64_t sequence);
/* Sequences [first, last) of a document. */
void indexed_document(const Indexed *set, int64_t document, int64_t *first, int64_t *last);
/* Copies tokens [from, from + n) of a sequence as i32; one that does not fit becomes -1. Fails where the .bin cannot be
 * read, or was cut since it was opened. */
bool indexed_read(const Indexed *set, int64_t sequence, int64_t from, int64_t n, int32_t *out, GError **error);
/* The document that a sequence belongs to, numbered from 0 in the whole set, whatever the window. */
int64_t indexed_locate(const Indexed *set, int64_t sequence);
/* xxh3 of the .idx, of the first and last MiB of the .bin and of a window, with the top bit clear. */
int64_t indexed_fingerprint(const Indexed *set);
int indexed_dtype(const Indexed *set); /* code: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 8 u16; fairseq's 9 u32, 10 u64 */

typedef struct IndexedWriter IndexedWriter; /* lengths and offsets spill to a temporary file: memory stays bounded */
/* Megatron's: u16 if vocab < 65500, else i32. Files appear under their names only at finish. */
IndexedWriter *indexed_writer_open(const char *prefix, int64_t vocab, GError **error);
/* fairseq's: u16 if vocab < 65500, else u32; the ends of documents are not written. */
IndexedWriter *indexed_writer_open_fairseq(const char *prefix, int64_t vocab, GError **error);
bool indexed_writer_add(IndexedWriter *writer, const int32_t *tokens, int64_t n, GError **error); /* one sequence */
bool indexed_writer_end_document(IndexedWriter *writer, GError **error);
bool indexed_writer_finish(IndexedWriter *writer, GError **error); /* frees */
void indexed_writer_abort(IndexedWriter *writer);                  /* frees, removes what was written */
