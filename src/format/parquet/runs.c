#include "format/parquet/runs.h"

#include <string.h>

Runs runs_new(const char *bytes, size_t n, int width)
{
    return (Runs){ .in = { .at = bytes, .end = bytes + n }, .width = width };
}

Runs runs_new_packed(const char *bytes, size_t n, int width)
{
    Runs runs = runs_new(bytes, n, width);
    runs.packed = runs.highest_first = true;
    runs.left = width > 0 ? (uint64_t)n * 8 / (uint64_t)width : 0;
    return runs;
}

uint64_t runs_bits(const char *bytes, const char *end, uint64_t bit, int width)
{
    const char *at = bytes + bit / 8;
    const int skipped = (int)(bit % 8);
    uint64_t low = 0, high = 0;
    const size_t n = (size_t)(end - at);
    memcpy(&low, at, n < sizeof low ? n : sizeof low);
    if (skipped + width > 64 && n > sizeof low)
        high = (uint8_t)at[sizeof low];
    const uint64_t all = low >> skipped | (skipped ? high << (64 - skipped) : 0);
    return width == 64 ? all : all & (((uint64_t)1 << width) - 1);
}

static uint32_t bits_from_highest(const Runs *runs)
{
    uint32_t value = 0;
    for (int i = 0; i < runs->width; i++) {
        const uint64_t bit = runs->bit + (uint64_t)i;
        value = value << 1 | ((uint8_t)runs->in.at[bit / 8] >> (7 - bit % 8) & 1);
    }
    return value;
}

/* Begins the next run; false if there is none. */
static bool open_run(Runs *runs)
{
    Thrift *in = &runs->in;
    if (runs->packed && !runs->highest_first)
        in->at += (runs->bit + 7) / 8;
    const uint64_t header = runs->highest_first ? 0 : thrift_varint(in);
    const size_t bytes = (size_t)(runs->width + 7) / 8;
    const uint64_t room = (uint64_t)(in->end - in->at) * 8 / (uint64_t)runs->width;
    runs->bit = 0;
    runs->packed = header & 1;
    if (in->bad || header > UINT32_MAX || (!runs->packed && bytes > (size_t)(in->end - in->at)))
        return false;
    if (runs->packed) { /* the last group may be cut off after the last number that is used */
        runs->left = (header >> 1) * 8 < room ? (header >> 1) * 8 : room;
        return true;
    }
    runs->left = header >> 1;
    runs->value = 0;
    memcpy(&runs->value, in->at, bytes);
    in->at += bytes;
    return true;
}

bool runs_next(Runs *runs, uint32_t *value)
{
    *value = 0;
    if (runs->width == 0)
        return true;
    while (runs->left == 0)
        if (runs->highest_first || !open_run(runs))
            return false;
    runs->left--;
    if (!runs->packed) {
        *value = runs->value;
        return true;
    }
    *value = runs->highest_first ? bits_from_highest(runs)
                                 : (uint32_t)runs_bits(runs->in.at, runs->in.end, runs->bit, runs->width);
    runs->bit += (uint64_t)runs->width;
    return true;
}
