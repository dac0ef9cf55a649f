/* pickle_value.h: the values that a pickle of Python holds, and functions that look at them. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum PickleType {
    PICKLE_NONE,
    PICKLE_BOOL,   /* in `integer` */
    PICKLE_INT,    /* in `integer`; an int of more than 64 bits is PICKLE_BYTES */
    PICKLE_REAL,   /* in `real` */
    PICKLE_TEXT,   /* in `text` */
    PICKLE_BYTES,  /* in `text`; an int of more than 64 bits is in little-endian order */
    PICKLE_LIST,   /* in `items` */
    PICKLE_TUPLE,  /* in `items` */
    PICKLE_SET,    /* in `items` */
    PICKLE_DICT,   /* in `items`: key, value, key, value, …; an OrderedDict too */
    PICKLE_NAME,   /* in `text`: name of a class or function: "torch._utils._rebuild_tensor_v2" */
    PICKLE_OBJECT, /* result of calling `callable` with `arguments`; with its `state`, and `items` if it is a subclass
                      of dict */
    PICKLE_PERSISTENT /* in `arguments`: the id of an object that lies outside the pickle */
} PickleType;

typedef struct PickleValue PickleValue;
struct PickleValue {
    PickleType type;
    union {
        int64_t integer;
        double real;
    };
    const char *text;                                /* not NUL-terminated */
    size_t bytes;                                    /* length of `text` */
    GPtrArray *items;                                /* const PickleValue *; NULL means empty */
    const PickleValue *callable, *arguments, *state; /* NULL if absent */
};

/* The number of items of a value. */
static inline guint pickle_items(const PickleValue *value)
{
    return value->items ? value->items->len : 0;
}

/* Item `index` of a value; NULL if it has fewer items. */
static inline const PickleValue *pickle_item(const PickleValue *value, guint index)
{
    return index < pickle_items(value) ? g_ptr_array_index(value->items, index) : NULL;
}

/* The value of a PICKLE_DICT at the text key `key`, the last one if the key occurs twice; NULL if absent. */
const PickleValue *pickle_find(const PickleValue *dict, const char *key);
/* Whether the value has this type and text. */
bool pickle_is(const PickleValue *value, PickleType type, const char *text);
