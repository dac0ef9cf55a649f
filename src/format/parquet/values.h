/* values.h: the values of a page, in any of Parquet's encodings. */
#pragma once

#include "format/parquet/delta.h"
#include "format/parquet/metadata.h"
#include "format/parquet/runs.h"

#include <glib.h>

/* A value as it is stored: a number, or bytes (PHYSICAL_BYTES, _FIXED and _INT96). */
typedef struct Value {
    union {
        int64_t integer; /* PHYSICAL_BOOLEAN, _INT32, _INT64 */
        double real;     /* PHYSICAL_FLOAT, _DOUBLE */
    };
    const char *text;
    size_t bytes;
} Value;

/* The values that pages of a chunk refer to by index. */
typedef struct Dictionary {
    char *data; /* owned */
    Value *values;
    uint32_t n;
} Dictionary;

/* Takes ownership of a page of n values; NULL if they do not fit. */
Dictionary *dictionary_new(const LeafType *type, char *data, size_t bytes, uint32_t n);
void dictionary_free(Dictionary *dictionary);

typedef struct Values {
    const LeafType *type;
    int encoding;
    const char *at, *end;         /* plain values; the bytes of texts */
    uint64_t index, n;            /* of the next plain boolean; of the next split value, and their number */
    const Dictionary *dictionary; /* borrowed */
    Runs runs;                    /* indices of the dictionary; booleans */
    Delta delta, prefixes;        /* integers, or lengths of texts; lengths of the parts of the text before */
    GString *text;                /* the last value of an encoding that puts its bytes together */
} Values;

/* most: entries of the page; text: kept by the caller, for Values.text. Errors do not name the column. */
bool values_open(Values *values, const LeafType *type, int encoding, const Dictionary *dictionary, const char *bytes,
                 size_t n, int64_t most, GString *text, GError **error);
/* The next value, whose bytes are valid until the next call; false if the page has no other one. */
bool values_next(Values *values, Value *value);
