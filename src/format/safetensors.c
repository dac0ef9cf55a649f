#include "format/safetensors.h"

#include "base/check.h"
#include "base/file.h"
#include "format/map.h"
#include "format/safetensors_dtype.h"

#include <jansson.h>
#include <string.h>

#define MAX_HEADER 100000000 /* bytes; the reference reader's limit, kept for the index as well */

typedef json_t Json;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Json, json_decref)

struct SafeTensors {
    GPtrArray *maps;      /* GMappedFile, one a file */
    GArray *tensors;      /* SafeTensor */
    GStringChunk *names;  /* what SafeTensor.name and the keys point to */
    GHashTable *by_name;  /* name -> index + 1 in `tensors` */
    GHashTable *metadata; /* key -> value, owned */
};

static SafeTensors *set_new(void)
{
    SafeTensors *set = g_new0(SafeTensors, 1);
    set->maps = g_ptr_array_new_with_free_func((GDestroyNotify)g_mapped_file_unref);
    set->tensors = g_array_new(FALSE, TRUE, sizeof(SafeTensor));
    set->names = g_string_chunk_new(4096);
    set->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    set->metadata = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return set;
}

void safetensors_close(SafeTensors *file)
{
    if (file == NULL)
        return;
    g_hash_table_unref(file->by_name);
    g_hash_table_unref(file->metadata);
    g_array_unref(file->tensors);
    g_string_chunk_free(file->names);
    g_ptr_array_unref(file->maps);
    g_free(file);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SafeTensors, safetensors_close)

static SafeTensor *tensor_at(const SafeTensors *set, guint index)
{
    return &g_array_index(set->tensors, SafeTensor, index);
}

static bool read_metadata(SafeTensors *set, Json *metadata, GError **error)
{
    if (!json_is_object(metadata))
        return fail_user(error, "__metadata__ is not an object");
    const char *key;
    Json *value;
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return fail_user(error, "__metadata__.%s is not a string", key);
        g_hash_table_replace(set->metadata, g_strdup(key), g_strdup(json_string_value(value)));
    }
    return true;
}

/* Fills `shape` and `rank`; *elements is their product. */
static bool read_shape(SafeTensor *tensor, const Json *shape, int64_t *elements, GError **error)
{
    if (!json_is_array(shape))
        return fail_user(error, "shape is not a list of whole numbers");
    if (json_array_size(shape) > SAFETENSORS_MAX_RANK)
        return fail_user(error, "shape has %zu dimensions, at most %d are read", json_array_size(shape),
                         SAFETENSORS_MAX_RANK);
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
static bool check_bytes(const SafeTensor *tensor, const SafeDType *dtype, int64_t elements, GError **error)
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

static bool read_tensor(SafeTensor *tensor, const Json *entry, const char *data, size_t data_bytes, GError **error)
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
    const SafeTensor *x = a, *y = b;
    const char *p = x->data, *q = y->data;
    if (p != q)
        return p < q ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Tensors [first, …) sorted by offset must tile `data` exactly. */
static bool check_layout(const SafeTensors *set, guint first, const char *data, size_t data_bytes, GError **error)
{
    size_t at = 0;
    for (guint i = first; i < set->tensors->len; i++) {
        const SafeTensor *tensor = tensor_at(set, i);
        size_t begin = (size_t)((const char *)tensor->data - data);
        if (begin != at)
            return fail_user(error, "tensor %s begins at byte %zu of the data, %s %zu", tensor->name, begin,
                             begin < at ? "overlapping the one before, which ends at" : "leaving a hole after", at);
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

static bool read_entries(SafeTensors *set, Json *header, const char *data, size_t data_bytes, GError **error)
{
    const char *name;
    Json *entry;
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            if (!read_metadata(set, entry, error))
                return false;
            continue;
        }
        SafeTensor tensor = { .name = name };
        if (!read_tensor(&tensor, entry, data, data_bytes, error))
            return fail_context(error, "tensor %s", name);
        tensor.name = g_string_chunk_insert(set->names, name);
        g_array_append_val(set->tensors, tensor);
    }
    return true;
}

/* Appends the tensors of one mapped file, by offset. */
static bool read_file(SafeTensors *set, GMappedFile *map, GError **error)
{
    const char *file = g_mapped_file_get_contents(map);
    size_t bytes = g_mapped_file_get_length(map), header_bytes = 0;
    if (!read_header_bytes(file, bytes, &header_bytes, error))
        return false;
    const char *text = file + 8, *data = text + header_bytes;
    size_t data_bytes = bytes - 8 - header_bytes;
    if (header_bytes == 0 || text[0] != '{')
        return fail_user(error, "not a safetensors file: its header does not begin with {");
    json_error_t wrong;
    g_autoptr(Json) header = json_loadb(text, header_bytes, JSON_REJECT_DUPLICATES, &wrong);
    if (header == NULL)
        return fail_user(error, "its header is not valid JSON: %s (byte %d)", wrong.text, wrong.position);
    guint first = set->tensors->len;
    if (!read_entries(set, header, data, data_bytes, error))
        return false;
    if (set->tensors->len > first)
        qsort(tensor_at(set, first), set->tensors->len - first, sizeof(SafeTensor), by_offset);
    return check_layout(set, first, data, data_bytes, error);
}

static bool load_file(SafeTensors *set, const char *path, GError **error)
{
    GMappedFile *map = map_file(path, error);
    if (map == NULL)
        return false;
    g_ptr_array_add(set->maps, map);
    return read_file(set, map, error) || fail_context(error, "%s", path);
}

static SafeTensors *index_names(SafeTensors *set)
{
    for (guint i = 0; i < set->tensors->len; i++)
        g_hash_table_insert(set->by_name, (char *)tensor_at(set, i)->name, GUINT_TO_POINTER(i + 1));
    return set;
}

SafeTensors *safetensors_open(const char *path, GError **error)
{
    g_autoptr(SafeTensors) set = set_new();
    return load_file(set, path, error) ? index_names(g_steal_pointer(&set)) : NULL;
}

SafeTensors *safetensors_open_mapped(GMappedFile *map, GError **error)
{
    g_autoptr(SafeTensors) set = set_new();
    g_ptr_array_add(set->maps, g_mapped_file_ref(map));
    return read_file(set, map, error) ? index_names(g_steal_pointer(&set)) : NULL;
}

/* Of the tensors [first, …), those that the index places elsewhere or does not know are left out. */
static void keep_mapped(SafeTensors *set, guint first, const Json *weight_map, const char *shard)
{
    guint kept = first;
    for (guint i = first; i < set->tensors->len; i++) {
        const char *place = json_string_value(json_object_get(weight_map, tensor_at(set, i)->name));
        if (place && strcmp(place, shard) == 0)
            *tensor_at(set, kept++) = *tensor_at(set, i);
    }
    g_array_set_size(set->tensors, kept);
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

static bool load_shards(SafeTensors *set, const char *folder, Json *weight_map, GError **error)
{
    g_autoptr(GPtrArray) shards = g_ptr_array_new();
    if (!list_shards(weight_map, shards, error))
        return false;
    for (guint i = 0; i < shards->len; i++) {
        g_autofree char *path = g_build_filename(folder, shards->pdata[i], NULL);
        guint first = set->tensors->len;
        if (!load_file(set, path, error))
            return false;
        keep_mapped(set, first, weight_map, shards->pdata[i]);
    }
    index_names(set);
    const char *name;
    Json *shard;
    json_object_foreach(weight_map, name, shard)
    {
        if (!g_hash_table_contains(set->by_name, name))
            return fail_user(error, "tensor %s is not in %s", name, json_string_value(shard));
    }
    return true;
}

SafeTensors *safetensors_open_folder(const char *path, GError **error)
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
    g_autoptr(SafeTensors) set = set_new();
    if (!load_shards(set, path, weight_map, error)) {
        fail_context(error, "%s", index);
        return NULL;
    }
    return g_steal_pointer(&set);
}

int safetensors_count(const SafeTensors *file)
{
    return (int)file->tensors->len;
}

const SafeTensor *safetensors_get(const SafeTensors *file, int index)
{
    CHECK(index >= 0 && index < safetensors_count(file), "tensor %d of %d", index, safetensors_count(file));
    return tensor_at(file, (guint)index);
}

const SafeTensor *safetensors_find(const SafeTensors *file, const char *name)
{
    guint place = GPOINTER_TO_UINT(g_hash_table_lookup(file->by_name, name));
    return place ? tensor_at(file, place - 1) : NULL;
}

const char *safetensors_metadata(const SafeTensors *file, const char *key)
{
    return g_hash_table_lookup(file->metadata, key);
}

bool safetensors_read_f32(const SafeTensor *tensor, int64_t first, int64_t n, float *out, GError **error)
{
    const SafeDType *dtype = safetensors_dtype(tensor->dtype);
    CHECK(dtype != NULL, "dtype %s", tensor->dtype);
    if (dtype->to_f32 == NULL)
        return fail_user(error, "tensor %s has dtype %s; F32, F16, BF16 and F64 can be read", tensor->name,
                         tensor->dtype);
    int64_t size = dtype->bits / 8, elements = (int64_t)tensor->bytes / size;
    CHECK(first >= 0 && n >= 0 && first <= elements && n <= elements - first, "%s: elements [%lld, + %lld) of %lld",
          tensor->name, (long long)first, (long long)n, (long long)elements);
    dtype->to_f32(out, (const char *)tensor->data + first * size, n);
    return true;
}
