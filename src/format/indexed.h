/* indexed.h: reads and writes token datasets of two files: PATH.bin holds the token ids, PATH.idx the lengths and
 * offsets of sequences and the documents. The format is MMIDIDX, version 1, of Megatron and fairseq, and files have the
 * same bytes as theirs; the older format TNTIDX of both is only read. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* Integer types that a writer uses for token ids; the values are the codes in the .idx. */
typedef enum IndexedDType { INDEXED_U16 = 8, INDEXED_I32 = 4, INDEXED_U32 = 9 } IndexedDType;

/* MMIDIDX of Megatron or fairseq, or TNTIDX (legacy) of Megatron or fairseq; fairseq's sequences are documents. */
typedef enum IndexedForm { INDEXED_MEGATRON, INDEXED_FAIRSEQ, INDEXED_LEGACY, INDEXED_LEGACY_FAIRSEQ } IndexedForm;

typedef struct Indexed Indexed; /* read-only; thread-safe */
/* Opens a dataset. prefix: the path without ".bin". Lengths, offsets and documents must fit the sizes of the files. */
Indexed *indexed_open(const char *prefix, GError **error);
void indexed_close(Indexed *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Indexed, indexed_close)
/* Restricts the dataset to documents [first, last). These documents, and their sequences, are then numbered from 0. */
void indexed_window(Indexed *set, int64_t first, int64_t last);
IndexedForm indexed_form(const Indexed *set);
int64_t indexed_sequences(const Indexed *set);                /* number of sequences */
int64_t indexed_documents(const Indexed *set);                /* number of documents */
int64_t indexed_tokens(const Indexed *set);                   /* number of tokens in all sequences */
int32_t indexed_length(const Indexed *set, int64_t sequence); /* number of tokens in a sequence */
/* Sets *first and *last: the document consists of sequences [*first, *last). */
void indexed_document(const Indexed *set, int64_t document, int64_t *first, int64_t *last);
/* Copies token ids [from, from + n) of a sequence to `out`; an id that does not fit into int32_t becomes -1. It is an
 * error if the .bin cannot be read, or has become shorter since it was opened. */
bool indexed_read(const Indexed *set, int64_t sequence, int64_t from, int64_t n, int32_t *out, GError **error);
/* The number, in the whole file, of the document with `sequence`, which is numbered within indexed_window. */
int64_t indexed_locate(const Indexed *set, int64_t sequence);
/* A hash of the content, ≥ 0: xxh3 of the .idx, the first and last MiB of the .bin, and indexed_window's range. */
int64_t indexed_fingerprint(const Indexed *set);
/* The code in the .idx for the integer type of token ids: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 8 u16; in fairseq's formats
 * also 9 u32, 10 u64. */
int indexed_dtype(const Indexed *set);

/* Writes a dataset. Lengths and offsets are in a temporary file, so that memory does not grow with the dataset. */
typedef struct IndexedWriter IndexedWriter;
/* Opens the files of a dataset for writing. form: INDEXED_MEGATRON or INDEXED_FAIRSEQ (which does not store document
 * boundaries). Token ids are stored as u16 if vocab < 65500, otherwise as i32 (Megatron) or u32 (fairseq). The files
 * get their final names in indexed_writer_publish. Fails if another process is writing this dataset. */
IndexedWriter *indexed_writer_open(const char *prefix, IndexedForm form, int64_t vocab, GError **error);
/* Appends one sequence of n tokens. */
bool indexed_writer_add(IndexedWriter *writer, const int32_t *tokens, int64_t n, GError **error);
/* Ends the current document, which consists of the sequences added since the last call. */
bool indexed_writer_end_document(IndexedWriter *writer, GError **error);
/* Completes the files under their final names. The writer keeps the dataset locked until indexed_writer_close. */
bool indexed_writer_publish(IndexedWriter *writer, GError **error);
/* Fails if the dataset was removed or replaced since the writer was opened: such files are of another process. */
bool indexed_writer_check_owner(const IndexedWriter *writer, GError **error);
/* Frees the writer, removes its unfinished files and unlocks the dataset. */
void indexed_writer_close(IndexedWriter *writer);
/* indexed_writer_publish, then indexed_writer_close. */
bool indexed_writer_finish(IndexedWriter *writer, GError **error);
