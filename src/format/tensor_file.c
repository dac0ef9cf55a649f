#include "format/tensor_file.h"

#include "base/check.h"
#include "base/file.h"
#include "base/float16.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- element types ---- */

static void copy_f32(float *out, const char *from, int64_t n)
{
    memcpy(out, from, (size_t)n * sizeof(float));
}

#define TO_F32(name, type, convert)                                                                                    \
    static void name(float *out, const char *from, int64_t n)                                                          \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            type value;                                                                                                \
            memcpy(&value, from + i * (int64_t)sizeof value, sizeof value);                                            \
            out[i] = convert(value);                                                                                   \
        }                                                                                                              \
    }
TO_F32(widen_bf16, uint16_t, bf16_to_f32)
TO_F32(widen_f16, uint16_t, f16_to_f32)
TO_F32(narrow_f64, double, (float))

#define ROUND(name, convert)                                                                                           \
    static void name(void *out, const float *from, int64_t n)                                                          \
    {                                                                                                                  \
        uint16_t *to = out;                                                                                            \
        for (int64_t i = 0; i < n; i++)                                                                                \
            to[i] = convert(from[i]);                                                                                  \
    }
ROUND(round_bf16, bf16_from_f32)
ROUND(round_f16, f16_from_f32)

static const FileDType dtypes[] = {
    { "BOOL", 8, NULL, NULL },
    { "F4", 4, NULL, NULL },
    { "F6_E2M3", 6, NULL, NULL },
    { "F6_E3M2", 6, NULL, NULL },
    { "U8", 8, NULL, NULL },
    { "I8", 8, NULL, NULL },
    { "F8_E5M2", 8, NULL, NULL },
    { "F8_E4M3", 8, NULL, NULL },
    { "F8_E8M0", 8, NULL, NULL },
    { "F8_E4M3FNUZ", 8, NULL, NULL },
    { "F8_E5M2FNUZ", 8, NULL, NULL },
    { "I16", 16, NULL, NULL },
    { "U16", 16, NULL, NULL },
    { "F16", 16, widen_f16, round_f16 },
    { "BF16", 16, widen_bf16, round_bf16 },
    { "I32", 32, NULL, NULL },
    { "U32", 32, NULL, NULL },
    { "F32", 32, copy_f32, NULL },
    { "C64", 64, NULL, NULL },
    { "F64", 64, narrow_f64, NULL },
    { "I64", 64, NULL, NULL },
    { "U64", 64, NULL, NULL },
};

const FileDType *file_dtype(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(dtypes); i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}

/* ---- tensors ---- */

struct TensorFile {
    GPtrArray *memory;    /* GBytes: mapped files and copies */
    GArray *tensors;      /* FileTensor */
    GStringChunk *names;  /* memory of FileTensor.name and of the metadata */
    GHashTable *by_name;  /* name -> index + 1 in `tensors` */
    GHashTable *metadata; /* key -> value, owned */
};

TensorFile *tensor_file_new(void)
{
    TensorFile *file = g_new0(TensorFile, 1);
    file->memory = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    file->tensors = g_array_new(FALSE, TRUE, sizeof(FileTensor));
    file->names = g_string_chunk_new(4096);
    file->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    file->metadata = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return file;
}

void tensor_file_close(TensorFile *file)
{
    if (file == NULL)
        return;
    g_hash_table_unref(file->by_name);
    g_hash_table_unref(file->metadata);
    g_array_unref(file->tensors);
    g_string_chunk_free(file->names);
    g_ptr_array_unref(file->memory);
    g_free(file);
}

void tensor_file_own(TensorFile *file, GBytes *memory)
{
    g_ptr_array_add(file->memory, memory);
}

bool tensor_file_add(TensorFile *file, const FileTensor *tensor)
{
    FileTensor copy = *tensor;
    copy.name = g_string_chunk_insert(file->names, tensor->name);
    g_array_append_val(file->tensors, copy);
    return g_hash_table_insert(file->by_name, (char *)copy.name, GUINT_TO_POINTER(file->tensors->len));
}

void tensor_file_set_metadata(TensorFile *file, const char *key, const char *value)
{
    g_hash_table_replace(file->metadata, g_strdup(key), g_strdup(value));
}

int tensor_file_count(const TensorFile *file)
{
    return (int)file->tensors->len;
}

const FileTensor *tensor_file_get(const TensorFile *file, int index)
{
    CHECK(index >= 0 && index < tensor_file_count(file), "tensor %d of %d", index, tensor_file_count(file));
    return &g_array_index(file->tensors, FileTensor, (guint)index);
}

const FileTensor *tensor_file_find(const TensorFile *file, const char *name)
{
    int number = GPOINTER_TO_INT(g_hash_table_lookup(file->by_name, name));
    return number ? tensor_file_get(file, number - 1) : NULL;
}

const char *tensor_file_metadata(const TensorFile *file, const char *key)
{
    return g_hash_table_lookup(file->metadata, key);
}

bool file_tensor_read_f32(const FileTensor *tensor, int64_t first, int64_t n, float *out, GError **error)
{
    const FileDType *dtype = file_dtype(tensor->dtype);
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

bool file_tensor_equal(const FileTensor *a, const FileTensor *b)
{
    const FileDType *of_a = file_dtype(a->dtype), *of_b = file_dtype(b->dtype);
    if (a->rank != b->rank || memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank) != 0)
        return false;
    if (of_a == of_b)
        return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
    if (!of_a->to_f32 || !of_b->to_f32)
        return false;
    float x[1024], y[G_N_ELEMENTS(x)];
    const int64_t count = (int64_t)a->bytes / (of_a->bits / 8);
    bool equal = true;
    for (int64_t at = 0; equal && at < count; at += (int64_t)G_N_ELEMENTS(x)) {
        const int64_t n = MIN(count - at, (int64_t)G_N_ELEMENTS(x));
        equal = file_tensor_read_f32(a, at, n, x, NULL) && file_tensor_read_f32(b, at, n, y, NULL) &&
                memcmp(x, y, sizeof *x * (size_t)n) == 0;
    }
    return equal;
}

void file_tensor_leave(const FileTensor *tensor)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)tensor->data;
    const uintptr_t first = (at + page - 1) / page * page, end = (at + tensor->bytes) / page * page;
    if (tensor->mapped && end > first)
        madvise((char *)(uintptr_t)tensor->data + (first - at), end - first, MADV_DONTNEED);
}

/* ---- reading a file ---- */

bool shard_holds(const Shard *shard, const char *tensor)
{
    return shard->weight_map == NULL ||
           g_strcmp0(json_string_value(json_object_get(shard->weight_map, tensor)), shard->name) == 0;
}

bool tensor_file_read(TensorFile *file, const char *path, const Shard *shard, TensorReader read, GError **error)
{
    g_autoptr(GMappedFile) map = io_map_file(path, error);
    return map && (read(file, map, shard, error) || fail_context(error, "%s", path));
}

TensorFile *tensor_file_open(const char *path, TensorReader read, GError **error)
{
    g_autoptr(TensorFile) file = tensor_file_new();
    return tensor_file_read(file, path, &(Shard){ 0 }, read, error) ? g_steal_pointer(&file) : NULL;
}
