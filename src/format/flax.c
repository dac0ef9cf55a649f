#include "format/tensor_file.h"

#include "base/file.h"

#include <string.h>

#define MAX_DEPTH      64  /* deepest nesting of maps */
#define MAX_NAME_BYTES 256 /* longest path (all keys together); with MAX_LEAVES this bounds the memory for names */
#define MAX_LEAVES     (1 << 18)
#define NDARRAY        1 /* Flax's extension types; the others are numbers */

typedef struct Reader {
    const unsigned char *at, *end;
    GString *path; /* path (keys) of the value being read */
    int depth, n_leaves;
    TensorFile *arrays;
    GHashTable *others; /* names of leaves that are no arrays, owned */
} Reader;

/* The head of a MessagePack value: its kind, and its number or how many bytes or values follow. */
typedef enum ValueKind { VALUE_SCALAR, VALUE_TEXT, VALUE_BINARY, VALUE_ARRAY, VALUE_MAP, VALUE_EXTENSION } ValueKind;
typedef struct Value {
    ValueKind kind;
    uint64_t n; /* a whole number's value; bytes; elements; pairs */
    int type;   /* type of a MessagePack extension */
    bool whole; /* n is a whole number >= 0 */
} Value;

/* The next bytes of the file; NULL with an error if there are fewer. */
static const unsigned char *take_bytes(Reader *reader, uint64_t bytes, GError **error)
{
    const unsigned char *p = reader->at;
    if (bytes > (uint64_t)(reader->end - p))
        return fail_user(error, "it ends in the middle of %s",
                         reader->path->len ? reader->path->str : "its first value");
    reader->at += bytes;
    return p;
}

/* A number of 1, 2, 4 or 8 bytes, the highest byte first. */
static bool take_big_endian(Reader *reader, int bytes, uint64_t *out, GError **error)
{
    const unsigned char *p = take_bytes(reader, (uint64_t)bytes, error);
    *out = 0;
    if (p == NULL)
        return false;
    for (int i = 0; i < bytes; i++)
        *out = *out << 8 | p[i];
    return true;
}

/* First bytes from 0xc0 to 0xdf: the kind of the value, and how many bytes of a length or number follow. An extension
 * of fixed length has it in `fixed`; a value with neither is a scalar of one byte. */
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

static bool read_value(Reader *reader, Value *value, GError **error)
{
    const unsigned char *first = take_bytes(reader, 1, error);
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
            return fail_user(error, "byte 0xc1 begins no value, at %s", reader->path->str);
        if (wide[row].bytes > 0 && !take_big_endian(reader, wide[row].bytes, &value->n, error))
            return false;
    }
    if (value->kind == VALUE_EXTENSION) {
        const unsigned char *type = take_bytes(reader, 1, error);
        if (type == NULL)
            return false;
        value->type = (signed char)*type;
    }
    return true;
}

static bool read_kind(Reader *reader, ValueKind kind, const char *what, Value *value, GError **error)
{
    if (!read_value(reader, value, error))
        return false;
    return value->kind == kind || fail_user(error, "%s: no %s where one should be", reader->path->str, what);
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

static bool read_flax_shape(Reader *reader, FileTensor *array, uint64_t *count, GError **error)
{
    Value value;
    *count = 1;
    if (!read_kind(reader, VALUE_ARRAY, "shape", &value, error))
        return false;
    if (value.n > FILE_TENSOR_MAX_RANK)
        return fail_user(error, "%s has %" G_GUINT64_FORMAT " dimensions", reader->path->str, value.n);
    array->rank = (int)value.n;
    for (int i = 0; i < array->rank; i++) {
        if (!read_value(reader, &value, error))
            return false;
        if (!value.whole || value.n > G_MAXINT32 || __builtin_mul_overflow(*count, value.n, count))
            return fail_user(error, "%s has an impossible shape", reader->path->str);
        array->shape[i] = (int64_t)value.n;
    }
    return true;
}

/* A numpy array is a MessagePack array of three: shape, name of the type, bytes. */
static bool read_array(Reader *reader, FileTensor *array, GError **error)
{
    Value value;
    uint64_t count;
    const unsigned char *p;
    if (!read_kind(reader, VALUE_ARRAY, "array", &value, error))
        return false;
    if (value.n != 3)
        return fail_user(error, "%s is not an array of numpy's", reader->path->str);
    if (!read_flax_shape(reader, array, &count, error) || !read_kind(reader, VALUE_TEXT, "type", &value, error) ||
        !(p = take_bytes(reader, value.n, error)))
        return false;
    array->dtype = dtype_of(p, value.n);
    if (array->dtype == NULL)
        return fail_user(error, "%s is of type %.*s, which cannot be read", reader->path->str, (int)MIN(value.n, 32),
                         p);
    if (!read_kind(reader, VALUE_BINARY, "data", &value, error) || !(p = take_bytes(reader, value.n, error)))
        return false;
    uint64_t width = (uint64_t)file_dtype(array->dtype)->bits / 8, want;
    if (__builtin_mul_overflow(count, width, &want) || value.n != want)
        return fail_user(error, "%s has %" G_GUINT64_FORMAT " bytes, which its shape does not give", reader->path->str,
                         value.n);
    array->data = p;
    array->bytes = value.n;
    return true;
}

static bool count_leaf(Reader *reader, GError **error)
{
    return ++reader->n_leaves <= MAX_LEAVES || fail_user(error, "it has more than %d leaves", MAX_LEAVES);
}

/* Reads the array in an extension of `bytes` bytes, all of which the array must use. */
static bool add_array(Reader *reader, uint64_t bytes, GError **error)
{
    const unsigned char *start, *end = reader->end;
    if (!count_leaf(reader, error) || !(start = take_bytes(reader, bytes, error)))
        return false;
    const unsigned char *after = reader->at;
    FileTensor array = { .name = reader->path->str };
    reader->at = start;
    reader->end = after;
    bool ok = read_array(reader, &array, error);
    if (ok && reader->at != after)
        ok = fail_user(error, "%s: bytes follow the array", array.name);
    reader->at = after;
    reader->end = end;
    if (ok && !tensor_file_add(reader->arrays, &array))
        ok = fail_user(error, "%s occurs twice", array.name);
    return ok;
}

static bool read_tree(Reader *reader, GError **error);

static bool read_pair(Reader *reader, GError **error)
{
    Value key;
    const unsigned char *text;
    size_t before = reader->path->len;
    if (!read_kind(reader, VALUE_TEXT, "key", &key, error) || !(text = take_bytes(reader, key.n, error)))
        return false;
    if (before + 1 + key.n > MAX_NAME_BYTES)
        return fail_user(error, "a name is longer than %d bytes", MAX_NAME_BYTES);
    if (!g_utf8_validate((const char *)text, (gssize)key.n, NULL))
        return fail_user(error, "%s: a key that is not UTF-8", reader->path->str);
    if (before > 0)
        g_string_append_c(reader->path, '/');
    g_string_append_len(reader->path, (const char *)text, (gssize)key.n);
    bool ok = read_tree(reader, error);
    if (ok)
        g_string_truncate(reader->path, before);
    return ok;
}

static bool read_many(Reader *reader, uint64_t n, bool pairs, GError **error)
{
    bool ok = ++reader->depth <= MAX_DEPTH;
    if (!ok)
        return fail_user(error, "maps are nested more than %d deep", MAX_DEPTH);
    for (uint64_t i = 0; ok && i < n; i++)
        ok = pairs ? read_pair(reader, error) : read_tree(reader, error);
    reader->depth--;
    return ok;
}

static bool read_tree(Reader *reader, GError **error)
{
    Value value;
    if (!read_value(reader, &value, error))
        return false;
    if (value.kind == VALUE_EXTENSION && value.type == NDARRAY)
        return add_array(reader, value.n, error);
    if (value.kind == VALUE_MAP)
        return read_many(reader, value.n, true, error);
    if (!count_leaf(reader, error))
        return false;
    g_hash_table_add(reader->others, g_strdup(reader->path->str));
    if (value.kind == VALUE_ARRAY)
        return read_many(reader, value.n, false, error);
    return value.kind == VALUE_SCALAR || take_bytes(reader, value.n, error) != NULL;
}

static bool read_whole(Reader *reader, GError **error)
{
    if (!read_tree(reader, error))
        return false;
    if (reader->at != reader->end)
        return fail_user(error, "%zu bytes follow its one value", (size_t)(reader->end - reader->at));
    return tensor_file_count(reader->arrays) > 0 || fail_user(error, "it holds no arrays");
}

TensorFile *flax_open(const char *path, GHashTable **others, GError **error)
{
    g_autoptr(GMappedFile) map = io_map_file(path, error);
    if (map == NULL)
        return NULL;
    g_autoptr(TensorFile) arrays = tensor_file_new();
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    size_t bytes = g_mapped_file_get_length(map); /* an empty file is not mapped */
    Reader reader = { .at = bytes ? (const unsigned char *)g_mapped_file_get_contents(map) : (const unsigned char *)"",
                      .path = g_string_new(NULL),
                      .arrays = arrays,
                      .others = names };
    reader.end = reader.at + bytes;
    tensor_file_own(arrays, g_mapped_file_get_bytes(map));
    bool ok = read_whole(&reader, error) || fail_context(error, "%s: not a checkpoint of Flax", path);
    g_string_free(reader.path, TRUE);
    if (ok && others)
        *others = g_steal_pointer(&names);
    return ok ? g_steal_pointer(&arrays) : NULL;
}
