/* corpus.h: documents of raw text, one after another, from files and folders: .txt (a blank line ends a document, or
 * the whole file is one), .jsonl/.json (one object a line, a field of it), .gz and .zst of both; other suffixes in a
 * folder are taken as whole-file text when they are UTF-8, and a named file is whole-file text too, unless its name has
 * no suffix (a pipe: blank lines end documents). Streams: memory is bounded by the longest document, however
 * large the input. Tables (.csv, .tsv and the like) are no text: a named one is an error, one in a folder is left out
 * with a warning. */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <stdint.h>

typedef struct CorpusOptions {
    const char *field;     /* of JSON objects: "text" */
    char **fields;         /* instead of it, NULL-terminated: their texts with a newline between; NULL: only `field` */
    bool fields_apart;     /* corpus_field tells where the text of each field lies; text that is no JSON is refused */
    bool whole_file;       /* .txt: one document a file, not one a paragraph block */
    bool without_last_end; /* of a .txt read whole: the end of its last line is left out */
    bool skip_errors;      /* --on-error skip: count and go on */
    int64_t max_bytes;     /* longest document accepted; 0: 64 MiB */
    const char *longer;    /* NULL, or what errors about longer ones say of a remedy: "; --option takes longer ones" */
    const volatile sig_atomic_t *interrupted; /* NULL, or what ends the corpus early, within a document too */
} CorpusOptions;

typedef struct Corpus Corpus;
/* paths: files and folders (walked in byte order of the names, so that order never depends on the machine). */
Corpus *corpus_open(char *const *paths, int n_paths, const CorpusOptions *options, GError **error);
void corpus_close(Corpus *corpus);
/* The next document; false at the end (error unset) or on an error that names file and line. *text is valid until the
 * next call. */
bool corpus_next(Corpus *corpus, const char **text, size_t *bytes, GError **error);
/* How many fields are kept apart: 1 where they are not. */
int corpus_fields(const Corpus *corpus);
/* Where the text of a field lies in that of the current document. */
void corpus_field(const Corpus *corpus, int field, size_t *begin, size_t *bytes);
uint64_t corpus_total_bytes(const Corpus *corpus); /* of the files as stored (compressed) */
uint64_t corpus_done_bytes(const Corpus *corpus);
/* The current document is a .txt read whole, or as much of it as fits: an order within it may be kept or cut. */
bool corpus_is_whole_text(const Corpus *corpus);
/* .txt files so far, and documents that they gave. */
void corpus_texts(const Corpus *corpus, int64_t *files, int64_t *documents);
int64_t corpus_skipped(const Corpus *corpus);
int64_t corpus_passed_over(const Corpus *corpus); /* files of folders that are no text */
int64_t corpus_nuls(const Corpus *corpus);        /* NUL characters of JSON, replaced by U+FFFD */
const char *corpus_where(const Corpus *corpus);   /* "file.jsonl:17" of the current document */

/* One line without its end, NUL-terminated; the callee may change it. */
typedef bool (*CorpusLineFn)(void *context, char *line, size_t bytes, GError **error);
/* Calls `use` for every line, as Python splits them (line_reader.h), of every file that the paths name, until it fails.
 * interrupted: NULL, or a flag that a signal handler sets to end the walk with an error. */
bool corpus_each_line(char *const *paths, int n_paths, const volatile sig_atomic_t *interrupted, CorpusLineFn use,
                      void *context, GError **error);
