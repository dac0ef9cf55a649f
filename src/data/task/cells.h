/* cells.h: the rows of a text file, plain, .gz or .zst, each cut into cells by a delimiter. With quotes (RFC 4180) a
 * cell may be written "…": delimiters, line ends and doubled quotes ("") within belong to it. Memory is bounded by the
 * longest row. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct CellFormat {
    char delimiter; /* 0 means that a whole line is one cell */
    bool quotes;
} CellFormat;

typedef struct CellReader CellReader;
CellReader *cell_reader_open(const char *path, CellFormat format, GError **error);
void cell_reader_close(CellReader *reader);
/* Reads the next row. Returns false at the end of the file (error unset), or on an error that names file, line and
 * column; after the error of a bad row the next call goes on with the row after it. */
bool cell_reader_next(CellReader *reader, GError **error);
/* The cells of the current row: UTF-8 without NUL, valid until the next call. */
int cell_reader_count(const CellReader *reader);
const char *cell_reader_cell(const CellReader *reader, int cell);
/* Line of the file at which the current row starts, from 1. */
int64_t cell_reader_line(const CellReader *reader);
/* Whether the file cannot be read on, as a damaged .gz. */
bool cell_reader_broken(const CellReader *reader);
