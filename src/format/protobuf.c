#include "format/protobuf.h"

/* Reads a varint and moves *at past it. */
static bool take_varint(const char **at, const char *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*(*at)++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

bool protobuf_next(const char **at, const char *end, ProtobufField *field)
{
    static const size_t fixed_bytes[8] = { 0, 8, 0, 0, 0, 4, 0, 0 };
    uint64_t tag;
    if (!take_varint(at, end, &tag))
        return false;
    int wire = (int)(tag & 7);
    *field = (ProtobufField){ .number = tag >> 3 };
    if (wire == 0)
        return take_varint(at, end, &field->value);
    uint64_t n = fixed_bytes[wire];
    if ((wire == 2 && !take_varint(at, end, &n)) || n > (size_t)(end - *at))
        return false;
    field->bytes = *at;
    field->n_bytes = n;
    *at += n;
    return wire == 1 || wire == 2 || wire == 5;
}
