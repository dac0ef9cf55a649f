/* delta.h: DELTA_BINARY_PACKED: integers as their differences, bit-packed in blocks. */
#pragma once

#include "format/parquet/thrift.h"

typedef struct Delta {
    Thrift in;
    uint64_t in_miniblock; /* values of a miniblock */
    uint64_t miniblocks;   /* of a block */
    uint64_t left;         /* values that follow, the first one among them */
    bool first;            /* the next one is the first, which is in the header */
    int64_t last, least;   /* the last value; the least difference in the block */
    const char *widths;    /* bits of a difference in each miniblock of the block */
    uint64_t miniblock;    /* the next one of the block */
    /* The current miniblock: */
    uint64_t miniblock_left;
    int width;
    const char *packed;
    uint64_t bit;
} Delta;

/* most: more values than that are an error. False if the bytes are malformed. */
bool delta_open(Delta *delta, const char *bytes, size_t n, int64_t most);
/* The next value; false if there is none, or if the bytes are malformed. */
bool delta_next(Delta *delta, int64_t *value);
/* Where the bytes after the last value begin; NULL if they are malformed. */
const char *delta_end(Delta delta);
