/* corpus.h: the documents of a text corpus, one after another, from files and folders.
 * - .txt: an empty line ends a document; with CorpusOptions.whole_file a file is one document.
 * - .jsonl and .json: one object a line, of which one field, or some, are the text.
 * - .gz and .zst of these are decompressed.
 * - Other files in a folder are one document each if they are UTF-8, and ignored otherwise; other files that are named
 * are one document each; a name without a suffix (a pipe) is read like .txt.
 * - Lines that end in CRLF lose their CR, in every kind of file and in the texts of JSON; a warning says so once.
 * - Tables (.csv, .tsv and the like) are no text: a named one is an error, one in a folder is ignored with a warning.
 * Memory is bounded by the longest document. */
#pragma once

#include "data/corpus/byte_stream.h"

#include <signal.h>
#include <stdint.h>

typedef struct CorpusOptions {
    const char *field; /* the field of JSON objects that holds the text */
    char **fields; /* NULL-terminated list of fields that are used instead of `field`, joined by newlines; NULL means
                      `field` */
    const char *field_option; /* name of the option for fields, for error messages; NULL means --field */
    bool fields_apart; /* corpus_field gives the range of each field in the text; files that are not JSON are errors */
    bool whole_file;   /* a .txt is one document */
    bool without_last_end; /* with whole_file: the end of the last line is left out */
    bool skip_errors;      /* documents that cannot be read are skipped and counted, not errors */
    int64_t max_bytes;     /* greatest length of a document, longer ones are errors; 0 means 64 MiB */
    char *const *outputs;  /* NULL-terminated paths that the caller will write; if a folder of the corpus holds such a
                              file, it is skipped with a warning; NULL means none */
    const char *longer; /* text at the end of the error about too long documents: "; --option takes longer ones"; NULL
                           means "" */
    const volatile sig_atomic_t
        *interrupted;           /* a flag that a signal handler sets to end the corpus early; NULL means none */
    const char *language_field; /* the field of JSON objects that corpus_language returns; NULL means the first of
                                   language, lang and path that holds a string */
} CorpusOptions;

/* Counts over the files and documents that corpus_next has read so far. */
typedef struct CorpusCounts {
    int64_t skipped;                    /* documents skipped by skip_errors */
    int64_t ignored;                    /* files in folders that were ignored, since they are not text */
    int64_t nuls;                       /* NUL characters in JSON strings that were replaced by U+FFFD */
    int64_t text_files, text_documents; /* .txt files, and their documents */
    int64_t named,
        unnamed; /* JSON objects for which corpus_language was called: with, and without CorpusOptions.language_field */
} CorpusCounts;

typedef struct Corpus Corpus;
/* paths: files and folders. Folders are read in byte order of the names, so the order is the same on every machine. */
Corpus *corpus_open(char *const *paths, int n_paths, const CorpusOptions *options, GError **error);
void corpus_close(Corpus *corpus);
/* Reads the next document; *text is valid until the next call. False at the end (error unset), or with an error that
 * names file and line. */
bool corpus_next(Corpus *corpus, const char **text, size_t *bytes, GError **error);
/* Number of fields with fields_apart, otherwise 1. */
int corpus_fields(const Corpus *corpus);
/* The text of a field is bytes [*begin, *begin + *bytes) of the current document. */
void corpus_field(const Corpus *corpus, int field, size_t *begin, size_t *bytes);
/* A name from which the language of the current document can be told: the language field of its JSON object ("" if
 * missing), or the name of its file without .gz or .zst. Valid until the next call. */
const char *corpus_language(Corpus *corpus);
/* Whether the current document is from a JSON object. */
bool corpus_is_object(const Corpus *corpus);
/* For a document from a JSON object: the string, or the list of strings, in a field; empty if the field is missing or
 * holds something else. g_strfreev. */
char **corpus_strings(const Corpus *corpus, const char *field);
uint64_t corpus_total_bytes(const Corpus *corpus); /* bytes of all files on disk (compressed) */
uint64_t corpus_done_bytes(const Corpus *corpus);  /* how many of these bytes have been read */
/* Whether the current document is a whole .txt, or the first part of a .txt that is longer than max_bytes. */
bool corpus_is_whole_text(const Corpus *corpus);
const CorpusCounts *corpus_counts(const Corpus *corpus);
/* The file and line of the current document: "file.jsonl:17". */
const char *corpus_where(const Corpus *corpus);

/* Called with one line without its line end, NUL-terminated; the callee may change it. */
typedef bool (*CorpusLineFn)(void *context, char *line, size_t bytes, GError **error);
/* Calls `use` for every line (split as in Python, see corpus_lines.c) of every file that the paths name, until it
 * returns false. interrupted: a flag that a signal handler sets to stop with an error; NULL means none. */
bool corpus_each_line(char *const *paths, int n_paths, const volatile sig_atomic_t *interrupted, CorpusLineFn use,
                      void *context, GError **error);
