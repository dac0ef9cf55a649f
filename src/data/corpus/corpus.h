/* corpus.h: reads the documents of a text corpus, one after another, from files and folders. A document is a record
 * (data/records), or some of its fields. Memory use is bounded by the longest document.
 * - The end of a file's name tells its format (record_corpus_format_of_name).
 * - .txt: an empty line ends a document; with CorpusOptions.whole_file a file is one document.
 * - Records with fields: one or several of them are the text of a document. A .json file in a folder whose first line
 * is not a JSON object is one document. A .csv or .tsv in a folder (RecordTraits.delimiter) is ignored with a warning,
 * unless CorpusOptions.format says that all files are tables.
 * - .gz, .zst, .xz and .bz2 of these, except .parquet, are decompressed.
 * - A file of no format is one document. If it was found in a folder and is not UTF-8, it is ignored. A named file
 * without a suffix, such as a pipe, is read like .txt; "-" is standard input. Any file without a suffix is read like
 * .jsonl if its first line is a JSON object.
 * - The CR of a line end CRLF is removed, in every kind of file and in texts of JSON and tables; one warning is logged.
 * - Files that are not text (base/foreign.h), such as .feather, are an error if they are named, and ignored with a
 * warning in a folder. */
#pragma once

#include "data/records/records.h"

typedef struct CorpusOptions {
    RecordFormat format; /* format of all files; RECORD_AUTO means that each has its own */
    char delimiter;      /* of tables; 0 means that of the format */
    const char *field;   /* the field of JSON objects, or the column of tables, that holds the text */
    char **fields; /* NULL-terminated list of fields that hold the text, joined by newlines; NULL means only `field` */
    const char *field_option; /* name of the option that chose the fields, for error messages; NULL means --field */
    bool fields_apart;        /* corpus_field gives each field's range in the text; files without fields are errors */
    bool whole_file;          /* a .txt file is one document */
    bool without_last_end;    /* with whole_file: the line end of the last line is left out */
    bool skip_errors;         /* documents that cannot be read are skipped and counted, not errors */
    int64_t max_bytes;        /* largest length of a document in bytes; a longer document is an error; 0 means 64 MiB */
    char *const *outputs; /* NULL-terminated list of paths that the caller will write; a file of a corpus folder that is
                             in this list is skipped with a warning; NULL means none */
    const char *longer;   /* appended to the error about a too long document: "; --option takes longer ones", or NULL */
    const volatile sig_atomic_t
        *interrupted;           /* a flag that a signal handler sets to end the corpus early; NULL means none */
    const char *language_field; /* the field of JSON objects that holds the programming language; NULL means the first
                                   of language, lang and path that holds a string */
    bool languages;             /* corpus_language will be called */
    const char *other_field;    /* a field that corpus_record will be asked for, too; NULL means none */
} CorpusOptions;

/* Counts over the files and documents that corpus_next has read so far. */
typedef struct CorpusCounts {
    int64_t skipped;                    /* documents that could not be read and were skipped (skip_errors) */
    int64_t ignored;                    /* files in folders that were ignored, since they are not text */
    int64_t nuls;                       /* NUL characters in JSON strings that were replaced by U+FFFD */
    int64_t text_files, text_documents; /* number of .txt files, and of their documents */
    int64_t named, unnamed; /* JSON objects with and without CorpusOptions.language_field, counted by corpus_language */
} CorpusCounts;

/* Sets `format` and `delimiter` of the options to the values of --input-format
 * (record_corpus_format_names) and --delimiter; NULL means that the option is not given. */
bool corpus_set_format(CorpusOptions *options, const char *format, const char *delimiter, GError **error);

typedef struct Corpus Corpus;
/* Opens a corpus of files and folders. Files of a folder are read in byte order of names, the same on every machine. */
Corpus *corpus_open(char *const *paths, int n_paths, const CorpusOptions *options, GError **error);
void corpus_close(Corpus *corpus);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Corpus, corpus_close)
/* Reads the next document; *text is valid until the next call. Returns false at the end of the corpus (error unset), or
 * with an error that names file and line. */
bool corpus_next(Corpus *corpus, const char **text, size_t *bytes, GError **error);
/* Number of fields that corpus_field distinguishes: with fields_apart the number of fields, otherwise 1. */
int corpus_fields(const Corpus *corpus);
/* The text of a field is bytes [*begin, *begin + *bytes) of the current document. */
void corpus_field(const Corpus *corpus, int field, size_t *begin, size_t *bytes);
/* A name by which grammars_find finds the language of the current document: the language field of its record ("" if
 * missing), or a text's path without the suffix of a compression. Valid until the next call. */
const char *corpus_language(Corpus *corpus);
/* The record of the current document: its position, "file.jsonl:17", and the fields of a JSON object or table row. */
const Record *corpus_record(const Corpus *corpus);
uint64_t corpus_total_bytes(const Corpus *corpus); /* size of all files on disk */
uint64_t corpus_done_bytes(const Corpus *corpus);  /* number of bytes on disk that have been read so far */
/* Whether the current document is a whole .txt file, or the first part of a .txt file that is longer than max_bytes. */
bool corpus_is_whole_text(const Corpus *corpus);
/* The counts so far, which the corpus owns. */
const CorpusCounts *corpus_counts(const Corpus *corpus);

/* record_each_line for every file that the paths name. */
bool corpus_each_line(char *const *paths, int n_paths, const volatile sig_atomic_t *interrupted, RecordLineFn use,
                      void *context, GError **error);

/* ---- corpus_files.c: the files that a list of paths names, and how each is read ---- */

typedef struct CorpusFile {
    char *path;
    RecordFormat format;    /* not RECORD_AUTO */
    RecordFormat otherwise; /* RecordSource.otherwise */
    bool in_folder;         /* it was found in a folder, not named */
    bool table;             /* a table that is not read (.feather, …; in a folder also .csv) */
    bool nameless;          /* a file without suffix: JSON lines if the first line is an object */
    bool probe; /* the file was found in a folder, so its content decides: a file with an unknown suffix is ignored
                   unless it is text; a .json is one document unless its first line is a JSON object */
    uint64_t bytes;
} CorpusFile;

/* Lists the files of `paths`; files of folders are in byte order of their names. Hidden files and folders are left out,
 * and so is a link to a folder that contains the link. format: that of all files; RECORD_AUTO means that each has its
 * own. Returns an array of CorpusFile *, which are freed with the array. */
GPtrArray *corpus_files_list(char *const *paths, int n_paths, RecordFormat format, GError **error);
