/* protobuf.h: reads the fields of a protobuf message, one after another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ProtobufField {
    uint64_t number, value; /* value: of a varint; otherwise 0 */
    const char *bytes;      /* content of a string, a message or a number of fixed size; otherwise NULL */
    size_t n_bytes;
} ProtobufField;

/* Reads the next field and moves *at past it; false at the end of the message or if it is malformed. */
bool protobuf_next(const char **at, const char *end, ProtobufField *field);
