#include "format/safetensors.h"

#include "base/file.h"
#include "format/map.h"
#include "format/safetensors_dtype.h"

#include <jansson.h>
#include <string.h>

#define MAX_HEADER 100000000 /* bytes; the reference reader's limit, kept for the index as well */

typedef json_t Json;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Json, json_decref)

static bool read_metadata(TensorFile *file, Json *metadata, GError **error)
{
    if (!json_is_object(metadata))
        return fail_user(error, "__metadata__ is not an object");
    const char *key;
    Json *value;
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return fail_user(error, "__metadata__.%s is not a string", key);
        tensor_file_set_metadata(file, key, json_string_value(value));
    }
    return true;
}

/* Fills `shape` and `rank`; *elements is their product. */
static bool read_shape(FileTensor *tensor, const Json *shape, int64_t *elements, GError **error)
{
    if (!json_is_array(shape))
        return fail_user(error, "shape is not a list of whole numbers");
    if (json_array_size(shape) > FILE_TENSOR_MAX_RANK)
        return fail_user(error, "shape has %zu dimensions, at most %d are read", json_array_size(shape),
                         FILE_TENSOR_MAX_RANK);
    tensor->rank = (int)json_array_size(shape);
    *elements = 1;
    for (int i = 0; i < tensor->rank; i++) {
        const Json *size = json_array_get(shape, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return fail_user(error, "shape is not a list of whole numbers");
        tensor->shape[i] = json_integer_value(size);
        if (__builtin_mul_overflow(*elements, tensor->shape[i], elements))
            return fail_user(error, "shape is too large: its elements cannot be counted in 64 bits");
    }
    return true;
}

/* The bytes that shape and dtype ask for must be those between the offsets. */
static bool check_bytes(const FileTensor *tensor, const SafeDType *dtype, int64_t elements, GError **error)
{
    int64_t bits;
    if (__builtin_mul_overflow(elements, (int64_t)dtype->bits, &bits))
        return fail_user(error, "shape is too large: its bits cannot be counted in 64 bits");
    if (bits % 8 != 0)
        return fail_user(error, "%" G_GINT64_FORMAT " elements of %s do not fill whole bytes", elements, dtype->name);
    if ((uint64_t)bits / 8 != tensor->bytes)
        return fail_user(error, "shape and dtype %s need %" G_GINT64_FORMAT " bytes, data_offsets span %zu",
                         dtype->name, bits / 8, tensor->bytes);
    return true;
}

static bool read_tensor(FileTensor *tensor, const Json *entry, const char *data, size_t data_bytes, GError **error)
{
    if (!json_is_object(entry))
        return fail_user(error, "its entry is not an object");
    const char *dtype_name = json_string_value(json_object_get(entry, "dtype"));
    const SafeDType *dtype = dtype_name ? safetensors_dtype(dtype_name) : NULL;
    if (dtype == NULL)
        return fail_user(error, "dtype %s is unknown", dtype_name ? dtype_name : "(missing)");
    tensor->dtype = dtype->name;
    int64_t elements = 0;
    if (!read_shape(tensor, json_object_get(entry, "shape"), &elements, error))
        return false;
    const Json *offsets = json_object_get(entry, "data_offsets");
    const Json *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
        json_integer_value(begin) < 0 || json_integer_value(end) < 0)
        return fail_user(error, "data_offsets is not a pair of whole numbers");
    if (json_integer_value(end) < json_integer_value(begin))
        return fail_user(error, "data_offsets end before they begin");
    if ((uint64_t)json_integer_value(end) > data_bytes)
        return fail_user(error, "data_offsets reach byte %lld of %zu: the file is truncated", json_integer_value(end),
                         data_bytes);
    tensor->bytes = (size_t)(json_integer_value(end) - json_integer_value(begin));
    tensor->data = data + json_integer_value(begin);
    return check_bytes(tensor, dtype, elements, error);
}

static int by_offset(const void *a, const void *b)
{
    const FileTensor *x = a, *y = b;
    const char *p = x->data, *q = y->data;
    if (p != q)
        return p < q ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Tensors sorted by offset must tile `data` exactly. */
static bool check_layout(const GArray *tensors, const char *data, size_t data_bytes, GError **error)
{
    size_t at = 0;
    for (guint i = 0; i < tensors->len; i++) {
        const FileTensor *tensor = &g_array_index(tensors, FileTensor, i);
        size_t start = (size_t)((const char *)tensor->data - data);
        if (start != at)
            return fail_user(error, "tensor %s begins at byte %zu of the data, %s %zu", tensor->name, start,
                             start < at ? "overlapping the one before, which ends at" : "leaving a hole after", at);
        at += tensor->bytes;
    }
    if (at != data_bytes)
        return fail_user(error, "%zu bytes follow the last tensor", data_bytes - at);
    return true;
}

/* Length of the JSON header, checked against the limit and the file. */
static bool read_header_bytes(const char *file, size_t bytes, size_t *header_bytes, GError **error)
{
    uint64_t n;
    if (bytes < sizeof n)
        return fail_user(error, "%zu bytes are too few for a safetensors file", bytes);
    memcpy(&n, file, sizeof n);
    if (n > MAX_HEADER)
        return fail_user(
            error, "not a safetensors file: its header would have %" G_GUINT64_FORMAT " bytes, at most %d are allowed",
            n, MAX_HEADER);
    if (n > bytes - sizeof n)
        return fail_user(error,
                         "its header has %" G_GUINT64_FORMAT " bytes, but only %zu follow: the file is truncated", n,
                         bytes - sizeof n);
    *header_bytes = n;
    return true;
}

/* Appends the tensors that the header lists; their names are the header's. */
static bool read_entries(TensorFile *file, GArray *tensors, Json *header, const char *data, size_t data_bytes,
                         GError **error)
{
    const char *name;
    Json *entry;
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            if (!read_metadata(file, entry, error))
                return false;
            continue;
        }
        FileTensor tensor = { .name = name };
        if (!read_tensor(&tensor, entry, data, data_bytes, error))
            return fail_context(error, "tensor %s", name);
        g_array_append_val(tensors, tensor);
    }
    return true;
}

/* weight_map of an index, and the file name of one of its shards; NULL and NULL for a file without an index. */
typedef struct Shard {
    const Json *weight_map;
    const char *name;
} Shard;

/* Whether the index says that this shard holds the tensor. */
static bool in_shard(const Shard *shard, const char *tensor)
{
    return shard->weight_map == NULL ||
           g_strcmp0(json_string_value(json_object_get(shard->weight_map, tensor)), shard->name) == 0;
}

/* Appends the tensors of one mapped file, by offset, without those that its index places elsewhere or does not list. */
static bool read_file(TensorFile *file, GMappedFile *map, const Shard *shard, GError **error)
{
    tensor_file_own(file, g_mapped_file_get_bytes(map));
    const char *start = g_mapped_file_get_contents(map);
    size_t bytes = g_mapped_file_get_length(map), header_bytes = 0;
    if (!read_header_bytes(start, bytes, &header_bytes, error))
        return false;
    const char *text = start + 8, *data = text + header_bytes;
    size_t data_bytes = bytes - 8 - header_bytes;
    if (header_bytes == 0 || text[0] != '{')
        return fail_user(error, "not a safetensors file: its header does not begin with {");
    json_error_t wrong;
    g_autoptr(Json) header = json_loadb(text, header_bytes, JSON_REJECT_DUPLICATES, &wrong);
    if (header == NULL)
        return fail_user(error, "its header is not valid JSON: %s (byte %d)", wrong.text, wrong.position);
    g_autoptr(GArray) tensors = g_array_new(FALSE, TRUE, sizeof(FileTensor));
    if (!read_entries(file, tensors, header, data, data_bytes, error))
        return false;
    g_array_sort(tensors, by_offset);
    if (!check_layout(tensors, data, data_bytes, error))
        return false;
    for (guint i = 0; i < tensors->len; i++)
        if (in_shard(shard, g_array_index(tensors, FileTensor, i).name))
            tensor_file_add(file, &g_array_index(tensors, FileTensor, i));
    return true;
}

static bool load_file(TensorFile *file, const char *path, const Shard *shard, GError **error)
{
    GMappedFile *map = map_file(path, error);
    if (map == NULL)
        return false;
    bool done = read_file(file, map, shard, error) || fail_context(error, "%s", path);
    g_mapped_file_unref(map);
    return done;
}

TensorFile *safetensors_open(const char *path, GError **error)
{
    g_autoptr(TensorFile) file = tensor_file_new();
    return load_file(file, path, &(Shard){ 0 }, error) ? g_steal_pointer(&file) : NULL;
}

TensorFile *safetensors_open_mapped(GMappedFile *map, GError **error)
{
    g_autoptr(TensorFile) file = tensor_file_new();
    return read_file(file, map, &(Shard){ 0 }, error) ? g_steal_pointer(&file) : NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The distinct file names of the map in byte order; each must be a plain name. */
static bool list_shards(Json *weight_map, GPtrArray *shards, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    const char *name;
    Json *value;
    json_object_foreach(weight_map, name, value)
    {
        char *shard = (char *)json_string_value(value);
        if (shard == NULL)
            return fail_user(error, "the place of tensor %s is not a file name", name);
        if (*shard == 0 || strchr(shard, '/') || strstr(shard, ".."))
            return fail_user(error, "tensor %s lies in %s, which is not a plain file name", name, shard);
        if (g_hash_table_add(seen, shard))
            g_ptr_array_add(shards, shard);
    }
    g_ptr_array_sort(shards, by_text);
    return true;
}

static bool load_shards(TensorFile *file, const char *folder, Json *weight_map, GError **error)
{
    g_autoptr(GPtrArray) shards = g_ptr_array_new();
    if (!list_shards(weight_map, shards, error))
        return false;
    for (guint i = 0; i < shards->len; i++) {
        g_autofree char *path = g_build_filename(folder, shards->pdata[i], NULL);
        if (!load_file(file, path, &(Shard){ weight_map, shards->pdata[i] }, error))
            return false;
    }
    const char *name;
    Json *shard;
    json_object_foreach(weight_map, name, shard)
    {
        if (tensor_file_find(file, name) == NULL)
            return fail_user(error, "tensor %s is not in %s", name, json_string_value(shard));
    }
    return true;
}

TensorFile *safetensors_open_folder(const char *path, GError **error)
{
    g_autofree char *single = g_build_filename(path, "model.safetensors", NULL);
    if (g_file_test(single, G_FILE_TEST_EXISTS))
        return safetensors_open(single, error);
    g_autofree char *index = g_build_filename(path, "model.safetensors.index.json", NULL);
    if (!g_file_test(index, G_FILE_TEST_EXISTS)) {
        fail_user(error, "%s holds neither model.safetensors nor model.safetensors.index.json", path);
        return NULL;
    }
    size_t bytes;
    g_autofree char *text = io_read_file(index, MAX_HEADER, &bytes, error);
    if (text == NULL)
        return NULL;
    json_error_t wrong;
    g_autoptr(Json) root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &wrong);
    Json *weight_map = json_object_get(root, "weight_map");
    if (!json_is_object(weight_map)) {
        fail_user(error, "%s: %s", index, root ? "weight_map is missing or not an object" : wrong.text);
        return NULL;
    }
    g_autoptr(TensorFile) file = tensor_file_new();
    if (!load_shards(file, path, weight_map, error)) {
        fail_context(error, "%s", index);
        return NULL;
    }
    return g_steal_pointer(&file);
}
