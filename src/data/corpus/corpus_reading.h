/* corpus_reading.h: the fields of a Corpus, for the files of this folder: corpus_files.c lists the files, corpus.c goes
 * from file to file, corpus_text.c and corpus_json.c read the documents of one file, corpus_reading.c its bytes and
 * lines. */
#pragma once

#include "data/corpus/byte_stream.h"
#include "data/corpus/corpus.h"

#include <jansson.h>

#define CORPUS_NAMED 10 /* documents and files left out that are named one by one */

/* Bytes that are read from a file at a time. */
#define CORPUS_CHUNK_BYTES ((size_t)1 << 17)

/* ---- corpus_files.c: the files that a list of paths names, and how each is read ---- */

typedef struct CorpusFile {
    char *path;
    CorpusFormat format; /* not CORPUS_BY_NAME */
    bool table;          /* a table (.csv, .parquet, …), which is not text */
    bool nameless;       /* a file without suffix: JSON lines if the first line is an object */
    bool probe; /* the file was found in a folder, so its content decides: a file with an unknown suffix is ignored
                   unless it is text; a .json is one document unless its first line is a JSON object */
    uint64_t bytes;
} CorpusFile;

/* Lists the files of `paths`; files of folders are in byte order of their names. Hidden files and folders are left out,
 * and so is a link to a folder that contains the link. format: that of all files. Returns an array of CorpusFile *,
 * which are freed with the array. */
GPtrArray *corpus_files_list(char *const *paths, int n_paths, CorpusFormat format, GError **error);

struct Corpus {
    CorpusOptions options; /* a copy: `fields` is owned, has at least one entry and is used instead of `field`; `longer`
                              is not NULL */
    char *language;        /* result of corpus_language for the current document; NULL if it was not asked for yet */
    size_t max_bytes;      /* options.max_bytes or its default */
    GArray *field_ends;    /* of size_t: the byte of the current document at which each field ends */
    GPtrArray *files;      /* of CorpusFile * */
    guint next_file;
    uint64_t total_bytes, finished_bytes;
    CorpusCounts counts;

    const CorpusFile *file; /* the open file, or NULL */
    CorpusFormat kind;      /* format of the open file, by its name and first bytes */
    ByteStream *stream;
    char *chunk; /* a chunk of the file, of which bytes [begin, end) have not been used yet; CRLF has become LF */
    size_t begin, end;
    bool at_end, broken; /* at_end: the whole file has been read; broken: the file cannot be read any further */
    bool endless;        /* the current line is longer than CORPUS_MOST_SKIPPED */
    bool skipping;       /* the rest of a document that cannot be read is being skipped */
    bool held_return;   /* the last chunk ended with a CR, which was removed from it: the next chunk begins with this CR
                           unless an LF follows */
    bool crlf;          /* lines of the file (for JSON: lines in the text of an object) ended in CRLF */
    bool crlf_remarked; /* the warning about CRLF has been logged */
    bool json_remarked; /* that a file without suffix is read as JSON lines has been logged */
    int64_t line_number;
    GString *line, *document, *where;
    json_t *object; /* the JSON object that holds the current document; NULL if the document is not from JSON */
    const char *text;
    size_t text_bytes; /* length of `text`; with whole_file, the bytes of `document` after `text` belong to the next
                          document */
};

/* Result of a function that reads a document or a line. */
typedef enum Found { FOUND_DOCUMENT, FOUND_END, FOUND_ERROR } Found;

/* ---- corpus_reading.c ---- */

/* Whether the flag CorpusOptions.interrupted is set. */
bool corpus_interrupted(const Corpus *corpus);
/* Removes the CR of every CRLF in `text`; returns the number of bytes that are left. */
size_t corpus_drop_returns(char *text, size_t bytes);
/* Replaces the chunk by the next one of the file, in which lines end in LF. */
bool corpus_refill(Corpus *corpus, GError **error);
/* Appends to `to` the bytes of the file up to and including `delimiter`; delimiter -1 means up to the end of the file.
 * If there are more than max_bytes bytes, *too_long becomes true; with skip_errors the rest of a line is skipped, up to
 * CORPUS_MOST_SKIPPED bytes. */
bool corpus_read_until(Corpus *corpus, int delimiter, GString *to, bool *too_long, GError **error);
/* Reads the next line without its line end into corpus->line; returns FOUND_DOCUMENT if there is a line. */
Found corpus_read_line(Corpus *corpus, GError **error);
/* Whether a line has only white space. */
bool corpus_is_blank(const GString *line);
/* The first byte of a text that is not UTF-8 or is NUL; NULL if there is none. */
const char *corpus_find_bad_byte(const GString *text);
/* Sets the error for a line or document of more than max_bytes; returns false. what: "a line" or "a document"; remedy:
 * text to append to the message. */
bool corpus_fail_too_long(Corpus *corpus, const char *what, const char *remedy, GError **error);
/* Sets corpus->where to the current line. */
void corpus_set_where(Corpus *corpus);
/* Counts a file of a folder that is not text, and warns of the first ones with the message `why`. */
void corpus_ignore(Corpus *corpus, const char *why);
/* Makes corpus->document the current text. */
Found corpus_take_document(Corpus *corpus);

/* ---- corpus_text.c: the next document of a text file ---- */

/* Reads the next document, which ends at an empty line. */
Found corpus_next_block(Corpus *corpus, GError **error);
/* Reads the whole file as a document; a file found in a folder is ignored if it is no text. */
Found corpus_next_whole_file(Corpus *corpus, GError **error);
/* Reads a .txt file as one document; if it is longer than max_bytes, reads its next part. */
Found corpus_next_whole_text(Corpus *corpus, GError **error);

/* ---- corpus_json.c: the next document of JSON lines ---- */

/* Reads the next JSON object; its text becomes the document. */
Found corpus_next_object(Corpus *corpus, GError **error);
/* Whether the first line of the file is a JSON object that has `field` (NULL means any object), or starts like an
 * object and is longer than the chunk. */
bool corpus_starts_with_object(const Corpus *corpus, const char *field);
