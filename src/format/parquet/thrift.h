/* thrift.h: reads Thrift's compact protocol, in which Parquet writes its metadata and the headers of its pages. A
 * struct is a sequence of fields:
 *     for (ThriftField field = { 0 }; thrift_next(in, &field);)
 *         switch (field.id) … default: thrift_skip(in, &field);
 * Anything malformed sets `bad`, after which every function gives 0 and every struct and list is at its end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Thrift {
    const char *at, *end;
    bool bad;
} Thrift;

typedef struct ThriftField {
    int id, type;
} ThriftField;

/* A list that is read: its items are taken while thrift_item gives true. */
typedef struct ThriftList {
    uint64_t left; /* items that follow */
    int type;
} ThriftList;

/* The next field of a struct; false at the end of the struct. The value must then be read or skipped. */
bool thrift_next(Thrift *in, ThriftField *field);
void thrift_skip(Thrift *in, const ThriftField *field);
/* The value of a field that has this type; a field of another type is malformed. */
int64_t thrift_integer(Thrift *in, const ThriftField *field);
int32_t thrift_int32(Thrift *in, const ThriftField *field);
bool thrift_bool(Thrift *in, const ThriftField *field);
const char *thrift_text(Thrift *in, const ThriftField *field, size_t *bytes); /* not NUL-terminated */
/* Whether the field is a struct, whose fields are read next. */
bool thrift_struct(Thrift *in, const ThriftField *field);
/* A list of structs. */
ThriftList thrift_structs(Thrift *in, const ThriftField *field);
bool thrift_item(Thrift *in, ThriftList *list);
/* Skips the fields of a struct. */
void thrift_skip_struct(Thrift *in);
/* An unsigned integer of 7 bits a byte, the lowest first, as Parquet's encodings have it, too. */
uint64_t thrift_varint(Thrift *in);
/* The signed integer 0, -1, 1, -2, … that is written as 0, 1, 2, 3, …. */
int64_t thrift_signed(uint64_t written);
