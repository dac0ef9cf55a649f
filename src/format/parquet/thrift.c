#include "format/parquet/thrift.h"

#define MOST_DEPTH 32 /* structs and lists within each other */

enum { TRUE_FIELD = 1, FALSE_FIELD, BYTE, INT16, INT32, INT64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT };

static uint8_t take_byte(Thrift *in)
{
    in->bad |= in->at == in->end;
    return in->bad ? 0 : (uint8_t)*in->at++;
}

static void skip_bytes(Thrift *in, uint64_t n)
{
    in->bad |= n > (uint64_t)(in->end - in->at);
    if (!in->bad)
        in->at += n;
}

uint64_t thrift_varint(Thrift *in)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = take_byte(in);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    in->bad = true;
    return 0;
}

int64_t thrift_signed(uint64_t written)
{
    return (int64_t)(written >> 1 ^ (~(written & 1) + 1));
}

bool thrift_next(Thrift *in, ThriftField *field)
{
    const uint8_t byte = take_byte(in);
    field->type = byte & 15;
    if (field->type == 0) /* the end of the struct, or of the bytes */
        return false;
    const int64_t id = byte >> 4 ? field->id + (byte >> 4) : thrift_signed(thrift_varint(in));
    in->bad |= id < 0 || id > INT16_MAX;
    field->id = (int)id;
    return !in->bad;
}

static bool has_type(Thrift *in, const ThriftField *field, int type)
{
    in->bad |= field->type != type;
    return !in->bad;
}

int64_t thrift_integer(Thrift *in, const ThriftField *field)
{
    if (field->type == BYTE)
        return (int8_t)take_byte(in);
    in->bad |= field->type != INT16 && field->type != INT32 && field->type != INT64;
    return in->bad ? 0 : thrift_signed(thrift_varint(in));
}

int32_t thrift_int32(Thrift *in, const ThriftField *field)
{
    const int64_t value = thrift_integer(in, field);
    in->bad |= value < INT32_MIN || value > INT32_MAX;
    return in->bad ? 0 : (int32_t)value;
}

bool thrift_bool(Thrift *in, const ThriftField *field)
{
    in->bad |= field->type != TRUE_FIELD && field->type != FALSE_FIELD;
    return field->type == TRUE_FIELD;
}

const char *thrift_text(Thrift *in, const ThriftField *field, size_t *bytes)
{
    const uint64_t n = has_type(in, field, BINARY) ? thrift_varint(in) : 0;
    const char *text = in->at;
    skip_bytes(in, n);
    *bytes = in->bad ? 0 : (size_t)n;
    return text;
}

bool thrift_struct(Thrift *in, const ThriftField *field)
{
    return has_type(in, field, STRUCT);
}

static ThriftList take_list(Thrift *in)
{
    const uint8_t byte = take_byte(in);
    return (ThriftList){ .left = byte >> 4 == 15 ? thrift_varint(in) : byte >> 4, .type = byte & 15 };
}

ThriftList thrift_structs(Thrift *in, const ThriftField *field)
{
    const ThriftList list = has_type(in, field, LIST) ? take_list(in) : (ThriftList){ 0 };
    in->bad |= list.left > 0 && list.type != STRUCT;
    return list;
}

bool thrift_item(Thrift *in, ThriftList *list)
{
    return !in->bad && list->left-- > 0;
}

static void skip_value(Thrift *in, int type, int depth);

static void skip_items(Thrift *in, uint64_t n, int type, int depth)
{
    for (; n > 0 && !in->bad; n--)
        if (type == TRUE_FIELD || type == FALSE_FIELD) /* booleans in a list have a byte each */
            take_byte(in);
        else
            skip_value(in, type, depth);
}

static void skip_map(Thrift *in, int depth)
{
    const uint64_t n = thrift_varint(in);
    const uint8_t types = n > 0 ? take_byte(in) : 0;
    for (uint64_t i = 0; i < n && !in->bad; i++) {
        skip_items(in, 1, types >> 4, depth);
        skip_items(in, 1, types & 15, depth);
    }
}

static void skip_value(Thrift *in, int type, int depth)
{
    in->bad |= depth == MOST_DEPTH;
    if (in->bad || type == TRUE_FIELD || type == FALSE_FIELD)
        return;
    if (type == BYTE) {
        take_byte(in);
    } else if (type >= INT16 && type <= INT64) {
        thrift_varint(in);
    } else if (type == DOUBLE) {
        skip_bytes(in, 8);
    } else if (type == BINARY) {
        skip_bytes(in, thrift_varint(in));
    } else if (type == LIST || type == SET) {
        const ThriftList list = take_list(in);
        skip_items(in, list.left, list.type, depth + 1);
    } else if (type == MAP) {
        skip_map(in, depth + 1);
    } else if (type == STRUCT) {
        for (ThriftField field = { 0 }; thrift_next(in, &field);)
            skip_value(in, field.type, depth + 1);
    } else {
        in->bad = true;
    }
}

void thrift_skip(Thrift *in, const ThriftField *field)
{
    skip_value(in, field->type, 0);
}

void thrift_skip_struct(Thrift *in)
{
    skip_value(in, STRUCT, 0);
}
