#include "format/tensor_file.h"

#include "base/check.h"
#include "format/safetensors_dtype.h"

#include <sys/mman.h>
#include <unistd.h>

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

void file_tensor_leave(const FileTensor *tensor)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)tensor->data;
    const uintptr_t first = (at + page - 1) / page * page, end = (at + tensor->bytes) / page * page;
    if (tensor->mapped && end > first)
        madvise((char *)(uintptr_t)tensor->data + (first - at), end - first, MADV_DONTNEED);
}
