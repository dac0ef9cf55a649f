#include "format/flax.h"

#include "format/map.h"
#include "format/safetensors_dtype.h"

#include <string.h>

#define MAX_DEPTH      64  /* of maps in maps */
#define MAX_NAME_BYTES 256 /* of all keys of a path: with MAX_LEAVES bounds the memory that names take */
#define MAX_LEAVES     (1 << 18)
#define NDARRAY        1 /* Flax's extension types; the others are numbers */

struct FlaxFile {
    GMappedFile *map;
    const unsigned char *at, *end;
    GString *path; /* of the value being read */
    int depth, n_leaves;
    GPtrArray *arrays;     /* SafeTensor *, their names owned */
    GHashTable *by_name;   /* name -> SafeTensor * */
    GHashTable *elsewhere; /* names of leaves that are no arrays, owned */
};

/* One MessagePack value without what follows it: a number, or how many bytes or values follow. */
typedef enum ValueKind { VALUE_SCALAR, VALUE_TEXT, VALUE_BINARY, VALUE_ARRAY, VALUE_MAP, VALUE_EXTENSION } ValueKind;
typedef struct Value {
    ValueKind kind;
    uint64_t n; /* a whole number's value; bytes; elements; pairs */
    int type;   /* of an extension */
    bool whole; /* n is a whole number >= 0 */
} Value;

static void array_free(void *pointer)
{
    SafeTensor *array = pointer;
    g_free((char *)array->name);
    g_free(array);
}

void flax_close(FlaxFile *file)
{
    if (file == NULL)
        return;
    g_hash_table_unref(file->by_name);
    g_hash_table_unref(file->elsewhere);
    g_ptr_array_unref(file->arrays);
    g_string_free(file->path, TRUE);
    if (file->map)
        g_mapped_file_unref(file->map);
    g_free(file);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FlaxFile, flax_close)

static bool fail_short(const FlaxFile *file, GError **error)
{
    return fail_user(error, "it ends in the middle of %s", file->path->len ? file->path->str : "its first value");
}

/* The next bytes; NULL if there are fewer. */
static const unsigned char *take(FlaxFile *file, uint64_t bytes, GError **error)
{
    const unsigned char *p = file->at;
    if (bytes > (uint64_t)(file->end - p)) {
        fail_short(file, error);
        return NULL;
    }
    file->at += bytes;
    return p;
}

/* A number of 1, 2, 4 or 8 bytes, the highest first. */
static bool take_big_endian(FlaxFile *file, int bytes, uint64_t *out, GError **error)
{
    const unsigned char *p = take(file, (uint64_t)bytes, error);
    *out = 0;
    if (p == NULL)
        return false;
    for (int i = 0; i < bytes; i++)
        *out = *out << 8 | p[i];
    return true;
}

/* First bytes from 0xc0 to 0xdf: the kind, and how many bytes of a length or number follow. Fixed extensions have their
 * length in `fixed`; what has neither is a scalar of one byte. */
static const struct {
    unsigned char kind, bytes, fixed;
} wide[32] = {
    [0x04] = { VALUE_BINARY, 1, 0 },    [0x05] = { VALUE_BINARY, 2, 0 },    [0x06] = { VALUE_BINARY, 4, 0 },
    [0x07] = { VALUE_EXTENSION, 1, 0 }, [0x08] = { VALUE_EXTENSION, 2, 0 }, [0x09] = { VALUE_EXTENSION, 4, 0 },
    [0x0a] = { VALUE_SCALAR, 4, 0 },    [0x0b] = { VALUE_SCALAR, 8, 0 },    [0x0c] = { VALUE_SCALAR, 1, 0 },
    [0x0d] = { VALUE_SCALAR, 2, 0 },    [0x0e] = { VALUE_SCALAR, 4, 0 },    [0x0f] = { VALUE_SCALAR, 8, 0 },
    [0x10] = { VALUE_SCALAR, 1, 0 },    [0x11] = { VALUE_SCALAR, 2, 0 },    [0x12] = { VALUE_SCALAR, 4, 0 },
    [0x13] = { VALUE_SCALAR, 8, 0 },    [0x14] = { VALUE_EXTENSION, 0, 1 }, [0x15] = { VALUE_EXTENSION, 0, 2 },
    [0x16] = { VALUE_EXTENSION, 0, 4 }, [0x17] = { VALUE_EXTENSION, 0, 8 }, [0x18] = { VALUE_EXTENSION, 0, 16 },
    [0x19] = { VALUE_TEXT, 1, 0 },      [0x1a] = { VALUE_TEXT, 2, 0 },      [0x1b] = { VALUE_TEXT, 4, 0 },
    [0x1c] = { VALUE_ARRAY, 2, 0 },     [0x1d] = { VALUE_ARRAY, 4, 0 },     [0x1e] = { VALUE_MAP, 2, 0 },
    [0x1f] = { VALUE_MAP, 4, 0 },
};

static bool read_value(FlaxFile *file, Value *value, GError **error)
{
    const unsigned char *first = take(file, 1, error);
    *value = (Value){ .kind = VALUE_SCALAR };
    if (first == NULL)
        return false;
    unsigned char c = *first;
    if (c < 0x80 || c >= 0xe0) {
        value->n = c;
        value->whole = c < 0x80;
    } else if (c < 0x90) {
        *value = (Value){ .kind = VALUE_MAP, .n = c & 15 };
    } else if (c < 0xa0) {
        *value = (Value){ .kind = VALUE_ARRAY, .n = c & 15 };
    } else if (c < 0xc0) {
        *value = (Value){ .kind = VALUE_TEXT, .n = c & 31 };
    } else {
        const int row = c - 0xc0;
        value->kind = (ValueKind)wide[row].kind;
        value->n = wide[row].fixed;
        value->whole = row >= 0x0c && row <= 0x0f;
        if (c == 0xc1)
            return fail_user(error, "byte 0xc1 begins no value, at %s", file->path->str);
        if (wide[row].bytes > 0 && !take_big_endian(file, wide[row].bytes, &value->n, error))
            return false;
    }
    if (value->kind == VALUE_EXTENSION) {
        const unsigned char *type = take(file, 1, error);
        if (type == NULL)
            return false;
        value->type = (signed char)*type;
    }
    return true;
}

static bool read_kind(FlaxFile *file, ValueKind kind, const char *what, Value *value, GError **error)
{
    if (!read_value(file, value, error))
        return false;
    return value->kind == kind || fail_user(error, "%s: no %s where one should be", file->path->str, what);
}

static const char *dtype_of(const unsigned char *name, uint64_t bytes)
{
    static const char *const names[][2] = { { "float32", "F32" }, { "bfloat16", "BF16" }, { "float16", "F16" },
                                            { "float64", "F64" }, { "int32", "I32" },     { "int64", "I64" },
                                            { "uint32", "U32" },  { "uint8", "U8" },      { "bool", "BOOL" } };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strlen(names[i][0]) == bytes && memcmp(names[i][0], name, bytes) == 0)
            return names[i][1];
    return NULL;
}

static bool read_shape(FlaxFile *file, SafeTensor *array, uint64_t *count, GError **error)
{
    Value value;
    *count = 1;
    if (!read_kind(file, VALUE_ARRAY, "shape", &value, error))
        return false;
    if (value.n > SAFETENSORS_MAX_RANK)
        return fail_user(error, "%s has %" G_GUINT64_FORMAT " dimensions", file->path->str, value.n);
    array->rank = (int)value.n;
    for (int i = 0; i < array->rank; i++) {
        if (!read_value(file, &value, error))
            return false;
        if (!value.whole || value.n > G_MAXINT32 || __builtin_mul_overflow(*count, value.n, count))
            return fail_user(error, "%s has an impossible shape", file->path->str);
        array->shape[i] = (int64_t)value.n;
    }
    return true;
}

/* An array of three: the shape, numpy's name of the type, the bytes. */
static bool read_array(FlaxFile *file, SafeTensor *array, GError **error)
{
    Value value;
    uint64_t count;
    const unsigned char *p;
    if (!read_kind(file, VALUE_ARRAY, "array", &value, error))
        return false;
    if (value.n != 3)
        return fail_user(error, "%s is not an array of numpy's", file->path->str);
    if (!read_shape(file, array, &count, error) || !read_kind(file, VALUE_TEXT, "type", &value, error) ||
        !(p = take(file, value.n, error)))
        return false;
    array->dtype = dtype_of(p, value.n);
    if (array->dtype == NULL)
        return fail_user(error, "%s is of type %.*s, which cannot be read", file->path->str, (int)MIN(value.n, 32), p);
    if (!read_kind(file, VALUE_BINARY, "data", &value, error) || !(p = take(file, value.n, error)))
        return false;
    uint64_t width = (uint64_t)safetensors_dtype(array->dtype)->bits / 8, want;
    if (__builtin_mul_overflow(count, width, &want) || value.n != want)
        return fail_user(error, "%s has %" G_GUINT64_FORMAT " bytes, which its shape does not give", file->path->str,
                         value.n);
    array->data = p;
    array->bytes = value.n;
    return true;
}

static bool count_leaf(FlaxFile *file, GError **error)
{
    return ++file->n_leaves <= MAX_LEAVES || fail_user(error, "it has more than %d leaves", MAX_LEAVES);
}

/* The array fills its extension; nothing in it is read beyond. */
static bool add_array(FlaxFile *file, uint64_t bytes, GError **error)
{
    const unsigned char *begin, *end = file->end;
    if (!count_leaf(file, error) || !(begin = take(file, bytes, error)))
        return false;
    const unsigned char *after = file->at;
    SafeTensor *array = g_new0(SafeTensor, 1);
    array->name = g_strdup(file->path->str);
    g_ptr_array_add(file->arrays, array);
    file->at = begin;
    file->end = after;
    bool ok = read_array(file, array, error);
    if (ok && file->at != after)
        ok = fail_user(error, "%s: bytes follow the array", file->path->str);
    file->at = after;
    file->end = end;
    if (ok && !g_hash_table_insert(file->by_name, (char *)array->name, array))
        ok = fail_user(error, "%s occurs twice", file->path->str);
    return ok;
}

static bool read_tree(FlaxFile *file, GError **error);

static bool read_pair(FlaxFile *file, GError **error)
{
    Value key;
    const unsigned char *text;
    size_t before = file->path->len;
    if (!read_kind(file, VALUE_TEXT, "key", &key, error) || !(text = take(file, key.n, error)))
        return false;
    if (before + 1 + key.n > MAX_NAME_BYTES)
        return fail_user(error, "a name is longer than %d bytes", MAX_NAME_BYTES);
    if (!g_utf8_validate((const char *)text, (gssize)key.n, NULL))
        return fail_user(error, "%s: a key that is not UTF-8", file->path->str);
    if (before > 0)
        g_string_append_c(file->path, '/');
    g_string_append_len(file->path, (const char *)text, (gssize)key.n);
    bool ok = read_tree(file, error);
    if (ok)
        g_string_truncate(file->path, before);
    return ok;
}

static bool read_many(FlaxFile *file, uint64_t n, bool pairs, GError **error)
{
    bool ok = ++file->depth <= MAX_DEPTH;
    if (!ok)
        return fail_user(error, "maps lie more than %d deep", MAX_DEPTH);
    for (uint64_t i = 0; ok && i < n; i++)
        ok = pairs ? read_pair(file, error) : read_tree(file, error);
    file->depth--;
    return ok;
}

static bool read_tree(FlaxFile *file, GError **error)
{
    Value value;
    if (!read_value(file, &value, error))
        return false;
    if (value.kind == VALUE_EXTENSION && value.type == NDARRAY)
        return add_array(file, value.n, error);
    if (value.kind == VALUE_MAP)
        return read_many(file, value.n, true, error);
    if (!count_leaf(file, error))
        return false;
    g_hash_table_add(file->elsewhere, g_strdup(file->path->str));
    if (value.kind == VALUE_ARRAY)
        return read_many(file, value.n, false, error);
    return value.kind == VALUE_SCALAR || take(file, value.n, error) != NULL;
}

FlaxFile *flax_open(const char *path, GError **error)
{
    g_autoptr(FlaxFile) file = g_new0(FlaxFile, 1);
    file->arrays = g_ptr_array_new_with_free_func(array_free);
    file->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    file->elsewhere = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    file->path = g_string_new(NULL);
    file->map = map_file(path, error);
    if (file->map == NULL)
        return NULL;
    size_t bytes = g_mapped_file_get_length(file->map); /* an empty file is not mapped */
    file->at = bytes ? (const unsigned char *)g_mapped_file_get_contents(file->map) : (const unsigned char *)"";
    file->end = file->at + bytes;
    bool ok = read_tree(file, error);
    if (ok && file->at != file->end)
        ok = fail_user(error, "%zu bytes follow its one value", (size_t)(file->end - file->at));
    if (ok && file->arrays->len == 0)
        ok = fail_user(error, "it holds no arrays");
    if (!ok) {
        fail_context(error, "%s: not a checkpoint of Flax", path);
        return NULL;
    }
    return g_steal_pointer(&file);
}

int flax_count(const FlaxFile *file)
{
    return (int)file->arrays->len;
}

const SafeTensor *flax_get(const FlaxFile *file, int index)
{
    return file->arrays->pdata[index];
}

const SafeTensor *flax_find(const FlaxFile *file, const char *name)
{
    return g_hash_table_lookup(file->by_name, name);
}

bool flax_is_elsewhere(const FlaxFile *file, const char *name)
{
    return g_hash_table_contains(file->elsewhere, name);
}
