/* pickle.h: Python's pickles read as data. Numbers, texts and plain containers become values; a class, a function or an
 * object becomes a placeholder that holds its name and arguments. Nothing is imported and nothing is called. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef enum PickleType {
    PICKLE_NONE,
    PICKLE_BOOL,      /* in `integer` */
    PICKLE_INT,       /* in `integer`; an int of more than 64 bits is PICKLE_BYTES */
    PICKLE_REAL,      /* in `real` */
    PICKLE_TEXT,      /* in `text` */
    PICKLE_BYTES,     /* in `text`; an int of more than 64 bits is in little-endian order */
    PICKLE_LIST,      /* in `items` */
    PICKLE_TUPLE,     /* in `items` */
    PICKLE_SET,       /* in `items` */
    PICKLE_DICT,      /* in `items`: key, value, key, value, …; an OrderedDict too */
    PICKLE_NAME,      /* in `text`: name of a class or function, "torch._utils._rebuild_tensor_v2" */
    PICKLE_OBJECT,    /* result of `callable` with `arguments`; its `state`, and `items` in a subclass of dict */
    PICKLE_PERSISTENT /* in `arguments`: the id of an object that lies outside the pickle */
} PickleType;

typedef struct PickleValue PickleValue;
struct PickleValue {
    PickleType type;
    union {
        int64_t integer;
        double real;
    };
    const char *text;                                /* no 0 at its end */
    size_t bytes;                                    /* of text */
    GPtrArray *items;                                /* const PickleValue *; NULL means empty */
    const PickleValue *callable, *arguments, *state; /* NULL where there is none */
};

typedef struct Pickle Pickle;
/* Reads one pickle of protocol 2 to 5, made of the opcodes that torch.save writes; `data` must outlive it. *used is its
 * length: another one may follow. Values may refer to each other in cycles. */
Pickle *pickle_read(const char *data, size_t bytes, size_t *used, GError **error);
void pickle_free(Pickle *pickle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Pickle, pickle_free)
const PickleValue *pickle_root(const Pickle *pickle);
/* Every value of the pickle, in the order of its opcodes. */
guint pickle_count(const Pickle *pickle);
const PickleValue *pickle_value(const Pickle *pickle, guint index);

static inline guint pickle_items(const PickleValue *value)
{
    return value->items ? value->items->len : 0;
}

/* NULL where there are fewer items. */
static inline const PickleValue *pickle_item(const PickleValue *value, guint index)
{
    return index < pickle_items(value) ? g_ptr_array_index(value->items, index) : NULL;
}

/* The value of a text key of a PICKLE_DICT, the last of equal ones; NULL if absent. */
const PickleValue *pickle_find(const PickleValue *dict, const char *key);
/* Whether the value has this type and text. */
bool pickle_is(const PickleValue *value, PickleType type, const char *text);
