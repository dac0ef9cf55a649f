/* pickle.h: reads Python's pickles without executing them. Numbers, texts and plain containers become values; a class,
 * a function or an object becomes a placeholder with its name and arguments. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef enum PickleType {
    PICKLE_NONE,
    PICKLE_BOOL,   /* in `integer` */
    PICKLE_INT,    /* in `integer`; an int of more than 64 bits becomes PICKLE_BYTES */
    PICKLE_REAL,   /* in `real` */
    PICKLE_TEXT,   /* in `text` */
    PICKLE_BYTES,  /* in `text`; an int of more than 64 bits has little-endian order */
    PICKLE_LIST,   /* in `items` */
    PICKLE_TUPLE,  /* in `items` */
    PICKLE_SET,    /* in `items` */
    PICKLE_DICT,   /* in `items`: key, value, key, value, …; also an OrderedDict */
    PICKLE_NAME,   /* in `text`: the name of a class or function, "torch._utils._rebuild_tensor_v2" */
    PICKLE_OBJECT, /* the object that calling `callable` with `arguments` would give, with its `state`; and `items` if
                      it is a subclass of dict */
    PICKLE_PERSISTENT /* a reference to an object outside the pickle, with the id `arguments` */
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

/* The number of items of a value; 0 for a value that is no container. */
static inline guint pickle_items(const PickleValue *value)
{
    return value->items ? value->items->len : 0;
}

/* Item `index` of a value; NULL if the value has fewer items. */
static inline const PickleValue *pickle_item(const PickleValue *value, guint index)
{
    return index < pickle_items(value) ? g_ptr_array_index(value->items, index) : NULL;
}

/* The value of a PICKLE_DICT for the text `key`, the last one if the key is repeated; NULL if there is none. */
const PickleValue *pickle_find(const PickleValue *dict, const char *key);
/* Whether the value has this type and text. */
bool pickle_is(const PickleValue *value, PickleType type, const char *text);

typedef struct Pickle {
    const PickleValue *root; /* the object that was pickled */
    GPtrArray *values;       /* const PickleValue *: all values, in the order of the opcodes that make them */
    GStringChunk *names;     /* texts of PICKLE_NAME */
} Pickle;

/* Reads one pickle of protocol 2 to 5 that consists of opcodes that torch.save writes; `data` must outlive the result.
 * *used becomes its length in bytes, since another may follow. Values may refer to each other in cycles. */
Pickle *pickle_read(const char *data, size_t bytes, size_t *used, GError **error);
void pickle_free(Pickle *pickle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Pickle, pickle_free)
