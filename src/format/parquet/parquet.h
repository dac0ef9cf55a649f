/* parquet.h: reads the rows of a Parquet file as JSON. Every encoding and page of the format is read, and compression
 * by snappy, gzip, brotli, zstd and lz4; an encrypted column, LZO, and what the format may get are errors that name it.
 * Memory: one page of each leaf of the wanted columns with its dictionary, and up to 128 MiB of pages that threads read
 * ahead.
 *
 * Values are what JSON lines would have: texts, numbers, true, false, null, lists, objects for structs and for maps.
 * Dates and times are texts as Python's isoformat writes them, "2026-01-31T12:30:00+00:00" if they are of UTC; decimal
 * numbers and UUIDs are texts; NaN is null, and infinity and integers beyond 63 bits are texts. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

/* Which texts are good; a row with another one is bad. */
typedef struct ParquetTexts {
    bool nuls;          /* they may contain NULs */
    size_t most_bytes;  /* largest length in bytes */
    const char *longer; /* appended to the error about a longer one */
} ParquetTexts;

typedef struct Parquet Parquet;
/* The file must be one that can be read from any position. */
Parquet *parquet_open(const char *path, const ParquetTexts *texts, GError **error);
void parquet_close(Parquet *file);
/* Names of the columns; a NULL-terminated list. g_strfreev. */
GStrv parquet_columns(const Parquet *file);
/* Column `column`, counted from 0, will be read by parquet_next. */
void parquet_want(Parquet *file, guint column);
int64_t parquet_rows(const Parquet *file); /* number of rows of the file */
int64_t parquet_row(const Parquet *file);  /* number of rows that have been read */
/* Sets the fields of the wanted columns in `row`, an object, to the next row's values. Returns false at the end of the
 * file (error unset), or with an error: *goes_on becomes true if only this row is bad, and the next one can be read;
 * the error then names only the column. */
bool parquet_next(Parquet *file, json_t *row, bool *goes_on, GError **error);
