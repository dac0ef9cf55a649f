/* cells.h: reads the rows of a text file (plain, .gz or .zst) and splits them into cells at a delimiter. With quotes
 * (RFC 4180) a cell may be enclosed in quotes ("…"); it may then contain delimiters, line ends, and quotes that are
 * written twice (""). Memory use is bounded by the longest row. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* How the cells of a row are written. */
typedef struct CellFormat {
    char delimiter; /* 0 means that a whole line is one cell */
    bool quotes;    /* cells may be enclosed in quotes, as in RFC 4180 */
} CellFormat;

typedef struct CellReader CellReader;
CellReader *cell_reader_open(const char *path, CellFormat format, GError **error);
void cell_reader_close(CellReader *reader);
/* Reads the next row. Returns false at the end of the file (error unset), or on an error that names file, line and
 * column; after an error about a bad row, the next call continues with the next row. */
bool cell_reader_next(CellReader *reader, GError **error);
/* The next bytes of the file, *n of them, which are not consumed; NULL with an error. */
const char *cell_reader_peek(CellReader *reader, size_t *n, GError **error);
/* The cells of the current row: UTF-8 without NUL, valid until the next call. */
int cell_reader_count(const CellReader *reader);
const char *cell_reader_cell(const CellReader *reader, int cell);
/* Line of the file at which the current row starts, counted from 1. */
int64_t cell_reader_line(const CellReader *reader);
/* Whether the rest of the file cannot be read, as in a corrupt .gz. */
bool cell_reader_broken(const CellReader *reader);
