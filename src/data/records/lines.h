/* lines.h: the bytes and lines of a text file, for the formats of this folder. */
#pragma once

#include "base/byte_stream.h"

#include <signal.h>

#define LINES_MOST_BYTES ((size_t)64 << 20) /* longest line in bytes, unless the caller says otherwise */
/* Bytes of a too long line that are skipped; a longer one is an error: a device or a pipe may have no line end. */
#define LINES_MOST_SKIPPED ((size_t)1 << 30)

/* Result of a function that reads a record, a document or a line. */
typedef enum Found { FOUND_RECORD, FOUND_END, FOUND_ERROR, FOUND_TOO_LONG } Found;

/* What becomes of carriage returns. In a file of which the first 128 KiB have CRs and no LF (as old Macs wrote it), a
 * CR ends a line in every case. */
typedef enum Returns {
    RETURNS_DROPPED, /* the CR of a line end CRLF is removed; other CRs stay */
    RETURNS_KEPT,    /* all stay */
    RETURNS_END      /* LF, CRLF and CR end lines, as in Python, which does not remove a byte order mark either */
} Returns;

typedef struct Lines {
    char *path;
    Returns returns;
    size_t most_bytes; /* longest line in bytes */
    const volatile sig_atomic_t
        *interrupted; /* a flag that a signal handler sets to end the file early; NULL means none */
    ByteStream *stream;
    char *chunk;       /* the bytes that were read from the file last */
    const char *bytes; /* bytes [begin, end) of it have not been used yet: `chunk`, or `again` */
    size_t begin, end;
    GString *again; /* bytes to read again before the rest of `chunk`, kept in [kept_begin, kept_end), or NULL */
    size_t kept_begin, kept_end;
    bool at_end, broken; /* at_end: the whole file has been read; broken: the file cannot be read any further */
    bool endless;        /* a line is longer than LINES_MOST_SKIPPED */
    bool too_long;       /* the rest of the current line is to be skipped */
    bool held_return;    /* the last chunk ended with a CR, which was removed from it: the next chunk begins with it */
    bool whole;          /* the first chunk is the whole file */
    GError *late;        /* an error after the bytes that have been read; NULL means none */
    bool crlf;           /* RETURNS_DROPPED: lines ended in CRLF */
    bool cr;             /* lines end in CR, as old Macs wrote them */
    int64_t number;      /* number of the current line, counted from 1 */
    GString *line;       /* the current line, without its end */
} Lines;

/* Opens a file and reads its first bytes. *foreign, unless NULL, becomes true if the error says that the file is not
 * text by them. most_bytes 0 means LINES_MOST_BYTES. */
Lines *lines_open(const char *path, Returns returns, size_t most_bytes, const volatile sig_atomic_t *interrupted,
                  bool *foreign, GError **error);
void lines_close(Lines *lines);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Lines, lines_close)
/* Replaces the used bytes by the next ones of the file. */
bool lines_refill(Lines *lines, GError **error);
/* Appends to `to` the bytes of the file up to and including `delimiter`; delimiter -1 means up to the end of the file.
 * If `to` would have more than most_bytes bytes, and a line end, *too_long becomes true. */
bool lines_read_until(Lines *lines, int delimiter, GString *to, bool *too_long, GError **error);
/* Reads the next line into lines->line. After FOUND_TOO_LONG the rest of the line is skipped by the next call. */
Found lines_next(Lines *lines, GError **error);
/* Appends the next line, with its end, to `to`, whose first bytes are of the lines before it; as lines_next. */
Found lines_append(Lines *lines, GString *to, GError **error);
/* The last n bytes that were read, `text`, will be read again, as the line after number `number`. */
void lines_unread(Lines *lines, const char *text, size_t n, int64_t number);
/* Whether a line has only white space. */
bool lines_is_blank(const GString *line);
/* The first byte of a text that is not UTF-8 or is NUL; NULL if there is none. */
const char *lines_find_bad_byte(const GString *text);
/* Sets the error for the current line, or a document, of more than most_bytes; returns false. what: "a line" or "a
 * document"; longer, remedy: texts to append to the message. */
bool lines_fail_too_long(const Lines *lines, const char *where, const char *what, const char *longer,
                         const char *remedy, GError **error);
