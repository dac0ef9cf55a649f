/* runs.h: Parquet's encoding of small numbers: runs of equal ones and groups of bit-packed ones (RLE), or all
 * bit-packed (BIT_PACKED, of old files). Levels, indices of dictionaries and booleans are written so. */
#pragma once

#include "format/parquet/thrift.h"

typedef struct Runs {
    Thrift in;
    int width;      /* bits of a number, 0 to 32 */
    uint64_t left;  /* numbers of the run that follow */
    uint32_t value; /* of the run, unless it is packed */
    bool packed;
    bool highest_first; /* BIT_PACKED: bits are filled from the highest one */
    uint64_t bit;       /* of in.at, at which the next packed number begins */
} Runs;

Runs runs_new(const char *bytes, size_t n, int width);
/* BIT_PACKED. */
Runs runs_new_packed(const char *bytes, size_t n, int width);
/* The next number; false if the bytes end before it. */
bool runs_next(Runs *runs, uint32_t *value);
/* The number of `width` bits, at most 64, at a bit of the bytes, the lowest bit of each byte first. */
uint64_t runs_bits(const char *bytes, const char *end, uint64_t bit, int width);
