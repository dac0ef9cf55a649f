/* cells.h: reads the rows of a text file (plain, .gz or .zst) and splits them into cells at a delimiter. With quotes
 * (RFC 4180) a cell may be written "…" and then contain delimiters, line ends and doubled quotes (""). Memory is
 * bounded by the longest row. */
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
 * column; after an error about a bad row, the next call continues with the next row. */
bool cell_reader_next(CellReader *reader, GError **error);
/* The cells of the current row: UTF-8 without NUL, valid until the next call. */
int cell_reader_count(const CellReader *reader);
const char *cell_reader_cell(const CellReader *reader, int cell);
/* Line of the file at which the current row starts, counted from 1. */
int64_t cell_reader_line(const CellReader *reader);
/* Whether the rest of the file cannot be read, as in a corrupt .gz. */
bool cell_reader_broken(const CellReader *reader);
