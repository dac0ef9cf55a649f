/* corpus_reading.h: the inside of Corpus, and how the files of its folder share the work: corpus_files.c lists the
 * files, corpus.c goes from file to file, corpus_text.c and corpus_json.c read the documents of one file,
 * corpus_reading.c its bytes and lines. */
#pragma once

#include "data/corpus/byte_stream.h"
#include "data/corpus/corpus.h"

#include <jansson.h>

#define CORPUS_CHUNK_BYTES ((size_t)1 << 17)

/* ---- corpus_files.c: the files that a list of paths names, and how each is read ---- */

typedef enum CorpusKind {
    CORPUS_TEXT,       /* empty lines end documents */
    CORPUS_JSON,       /* one JSON object a line */
    CORPUS_WHOLE_FILE, /* one document */
    CORPUS_TABLE       /* rows and columns, no text */
} CorpusKind;

typedef struct CorpusFile {
    char *path;
    CorpusKind kind;
    bool probe; /* found in a folder, so its contents decide: a file with an unknown suffix is ignored unless it is
                   text; a .json is one document unless its first line is an object */
    uint64_t bytes;
} CorpusFile;

/* Lists files, and the files in folders in byte order of their names. Hidden names are left out, and folders that
 * contain themselves by a link. Elements are CorpusFile *, freed with the array; NULL on an error. */
GPtrArray *corpus_files_list(char *const *paths, int n_paths, GError **error);

struct Corpus {
    CorpusOptions options; /* `fields` owned, one at least, and used in place of `field`; `longer` is not NULL */
    char *language;        /* of corpus_language; NULL means not asked for yet */
    size_t max_bytes;      /* options.max_bytes or its default */
    GArray *field_ends;    /* of size_t: where each field ends in the current document */
    GPtrArray *files;      /* of CorpusFile * */
    guint next_file;
    uint64_t total_bytes, finished_bytes;
    CorpusCounts counts;

    const CorpusFile *file; /* the open file, or NULL */
    CorpusKind kind;        /* of the open file, by its name and its first bytes */
    ByteStream *stream;
    char *chunk; /* bytes [begin, end) have not been read yet; CRLF has become LF */
    size_t begin, end;
    bool at_end, broken; /* at_end: the whole file has been read; broken: nothing more can be read from it */
    bool skipping;       /* the rest of a bad document is being skipped */
    bool held_return;    /* the last chunk ended with a CR, which the next one begins with unless an LF follows */
    bool crlf;           /* lines of the file ended in CRLF; of JSON lines: lines in the text of an object */
    bool crlf_remarked;  /* a warning was given */
    int64_t line_number;
    GString *line, *document, *where;
    json_t *object; /* holds the text of the current document; NULL unless it is from JSON */
    const char *text;
    size_t text_bytes; /* of `text`; of a .txt read whole, what `document` holds after `text` is the next document's */
};

/* What a call that reads a document or a line has met. */
typedef enum Found { FOUND_DOCUMENT, FOUND_END, FOUND_ERROR } Found;

/* ---- corpus_reading.c ---- */

bool corpus_interrupted(const Corpus *corpus);
/* Removes the CR of every CRLF; returns the number of bytes that are left. */
size_t corpus_drop_returns(char *text, size_t bytes);
/* Replaces the chunk by the next one of the file, in which lines end in LF. */
bool corpus_refill(Corpus *corpus, GError **error);
/* Appends to `to` the bytes up to and including `delimiter`; -1 means to the end of the file. *too_long: there were
 * more than max_bytes, and the rest was skipped. */
bool corpus_read_until(Corpus *corpus, int delimiter, GString *to, bool *too_long, GError **error);
/* Reads the next line without its end into corpus->line; FOUND_DOCUMENT if there is one. */
Found corpus_read_line(Corpus *corpus, GError **error);
bool corpus_is_blank(const GString *line);
/* The first byte that is not UTF-8 or is NUL; NULL if there is none. */
const char *corpus_find_bad_byte(const GString *text);
bool corpus_fail_bad_byte(const char *where, const char *bad, GError **error);
/* what: "a line" or "a document". */
bool corpus_fail_too_long(Corpus *corpus, const char *what, const char *remedy, GError **error);
/* Sets corpus->where to the current line. */
void corpus_set_where(Corpus *corpus);
/* Makes corpus->document the current text. */
Found corpus_take_document(Corpus *corpus);

/* ---- corpus_text.c: the next document of a text file ---- */

/* Reads the next document, which ends at an empty line. */
Found corpus_next_block(Corpus *corpus, GError **error);
/* Reads the whole file as a document; a file found in a folder is ignored if it is no text. */
Found corpus_next_whole_file(Corpus *corpus, GError **error);
/* Reads a .txt as one document, or the next part of a .txt longer than max_bytes. */
Found corpus_next_whole_text(Corpus *corpus, GError **error);

/* ---- corpus_json.c: the next document of JSON lines ---- */

Found corpus_next_object(Corpus *corpus, GError **error);
/* Whether the first line is a JSON object, or starts like one and goes on beyond the chunk. */
bool corpus_starts_with_object(const Corpus *corpus);
