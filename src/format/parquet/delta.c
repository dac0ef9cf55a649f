#include "format/parquet/delta.h"

#include "format/parquet/runs.h"

#define MOST_IN_BLOCK ((uint64_t)1 << 32)

bool delta_open(Delta *delta, const char *bytes, size_t n, int64_t most)
{
    *delta = (Delta){ .in = { .at = bytes, .end = bytes + n }, .first = true };
    Thrift *in = &delta->in;
    const uint64_t in_block = thrift_varint(in);
    delta->miniblocks = thrift_varint(in);
    delta->left = thrift_varint(in);
    delta->last = thrift_signed(thrift_varint(in));
    if (in->bad || in_block == 0 || in_block > MOST_IN_BLOCK || delta->miniblocks == 0 ||
        in_block % (delta->miniblocks * 8) != 0 || delta->miniblocks > in_block)
        return false;
    delta->in_miniblock = in_block / delta->miniblocks;
    delta->miniblock = delta->miniblocks; /* a block follows */
    return delta->left <= (uint64_t)most;
}

static bool open_miniblock(Delta *delta)
{
    Thrift *in = &delta->in;
    if (delta->miniblock == delta->miniblocks) {
        delta->least = thrift_signed(thrift_varint(in));
        delta->widths = in->at;
        delta->miniblock = 0;
        if (in->bad || delta->miniblocks > (uint64_t)(in->end - in->at))
            return false;
        in->at += delta->miniblocks;
    }
    delta->width = (uint8_t)delta->widths[delta->miniblock++];
    delta->packed = in->at;
    delta->bit = 0;
    delta->miniblock_left = delta->in_miniblock;
    const uint64_t bytes = delta->in_miniblock / 8 * (uint64_t)delta->width;
    if (delta->width > 64 || bytes > (uint64_t)(in->end - in->at))
        return false;
    in->at += bytes;
    return true;
}

bool delta_next(Delta *delta, int64_t *value)
{
    if (delta->left == 0)
        return false;
    if (!delta->first) {
        if (delta->miniblock_left == 0 && !open_miniblock(delta))
            return false;
        const uint64_t bits = runs_bits(delta->packed, delta->in.at, delta->bit, delta->width);
        delta->bit += (uint64_t)delta->width;
        delta->miniblock_left--;
        delta->last = (int64_t)((uint64_t)delta->last + (uint64_t)delta->least + bits);
    }
    delta->first = false;
    delta->left--;
    *value = delta->last;
    return true;
}

const char *delta_end(Delta delta)
{
    uint64_t packed = delta.left > 0 ? delta.left - 1 : 0; /* the first value is in the header */
    while (packed > 0) {
        if (!open_miniblock(&delta))
            return NULL;
        packed -= packed < delta.in_miniblock ? packed : delta.in_miniblock;
    }
    return delta.in.at;
}
