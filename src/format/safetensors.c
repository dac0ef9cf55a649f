#include "format/safetensors.h"

#include <string.h>

#define MAX_HEADER 100000000 /* bytes; the reference reader's limit */

static bool read_metadata(TensorFile *file, json_t *metadata, GError **error)
{
    if (!json_is_object(metadata))
        return fail_user(error, "__metadata__ is not an object");
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return fail_user(error, "__metadata__.%s is not a string", key);
        tensor_file_set_metadata(file, key, json_string_value(value));
    }
    return true;
}

/* Fills `shape` and `rank`; *elements is their product. */
static bool read_safe_shape(FileTensor *tensor, const json_t *shape, int64_t *elements, GError **error)
{
    if (!json_is_array(shape))
        return fail_user(error, "shape is not a list of whole numbers");
    if (json_array_size(shape) > FILE_TENSOR_MAX_RANK)
        return fail_user(error, "shape has %zu dimensions, at most %d are read", json_array_size(shape),
                         FILE_TENSOR_MAX_RANK);
    tensor->rank = (int)json_array_size(shape);
    *elements = 1;
    for (int i = 0; i < tensor->rank; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return fail_user(error, "shape is not a list of whole numbers");
        tensor->shape[i] = json_integer_value(size);
        if (__builtin_mul_overflow(*elements, tensor->shape[i], elements))
            return fail_user(error, "shape is too large: its elements cannot be counted in 64 bits");
    }
    return true;
}

/* Shape and dtype must need exactly the bytes between the offsets. */
static bool check_bytes(const FileTensor *tensor, const FileDType *dtype, int64_t elements, GError **error)
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

static bool read_tensor(FileTensor *tensor, const json_t *entry, const char *data, size_t data_bytes, GError **error)
{
    if (!json_is_object(entry))
        return fail_user(error, "its entry is not an object");
    const char *dtype_name = json_string_value(json_object_get(entry, "dtype"));
    const FileDType *dtype = dtype_name ? file_dtype(dtype_name) : NULL;
    if (dtype == NULL)
        return fail_user(error, "dtype %s is unknown", dtype_name ? dtype_name : "(missing)");
    tensor->dtype = dtype->name;
    int64_t elements = 0;
    if (!read_safe_shape(tensor, json_object_get(entry, "shape"), &elements, error))
        return false;
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
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

/* Appends the tensors of the header; their names belong to the header. */
static bool read_entries(TensorFile *file, GArray *tensors, json_t *header, const char *data, size_t data_bytes,
                         GError **error)
{
    const char *name;
    json_t *entry;
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            if (!read_metadata(file, entry, error))
                return false;
            continue;
        }
        FileTensor tensor = { .name = name, .mapped = true };
        if (!read_tensor(&tensor, entry, data, data_bytes, error))
            return fail_context(error, "tensor %s", name);
        g_array_append_val(tensors, tensor);
    }
    return true;
}

/* Bytes of white space at the start of a header, which JSON permits and the safetensors library reads. */
static size_t leading_blanks(const char *text, size_t bytes)
{
    size_t n = 0;
    while (n < bytes && strchr(" \t\r\n", text[n]) && text[n])
        n++;
    return n;
}

/* The tensors are appended in the order of their offsets. */
bool safetensors_read(TensorFile *file, GMappedFile *map, const Shard *shard, GError **error)
{
    tensor_file_own(file, g_mapped_file_get_bytes(map));
    const char *start = g_mapped_file_get_contents(map);
    size_t bytes = g_mapped_file_get_length(map), header_bytes = 0;
    if (!read_header_bytes(start, bytes, &header_bytes, error))
        return false;
    const char *text = start + 8, *data = text + header_bytes;
    size_t data_bytes = bytes - 8 - header_bytes;
    const size_t blanks = leading_blanks(text, header_bytes);
    if (blanks == header_bytes || text[blanks] != '{')
        return fail_user(error, "not a safetensors file: its header does not begin with {");
    json_error_t wrong;
    json_auto_t *header = json_loadb(text, header_bytes, JSON_REJECT_DUPLICATES, &wrong);
    if (header == NULL)
        return fail_user(error, "its header is not valid JSON: %s (byte %d)", wrong.text, wrong.position);
    g_autoptr(GArray) tensors = g_array_new(FALSE, TRUE, sizeof(FileTensor));
    if (!read_entries(file, tensors, header, data, data_bytes, error))
        return false;
    g_array_sort(tensors, by_offset);
    if (!check_layout(tensors, data, data_bytes, error))
        return false;
    for (guint i = 0; i < tensors->len; i++)
        if (shard_holds(shard, g_array_index(tensors, FileTensor, i).name))
            tensor_file_add(file, &g_array_index(tensors, FileTensor, i));
    return true;
}

TensorFile *safetensors_open(const char *path, GError **error)
{
    return tensor_file_open(path, safetensors_read, error);
}

TensorFile *safetensors_open_mapped(GMappedFile *map, GError **error)
{
    g_autoptr(TensorFile) file = tensor_file_new();
    return safetensors_read(file, map, &(Shard){ 0 }, error) ? g_steal_pointer(&file) : NULL;
}
