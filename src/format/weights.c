#include "format/tensor_file.h"

#include "base/file.h"
#include "base/text.h"
#include "format/safetensors.h"

#include <string.h>

#define MAX_INDEX_BYTES 100000000

/* The distinct file names of the map in byte order; each must be a plain name. */
static bool list_shards(json_t *weight_map, GPtrArray *shards, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    const char *name;
    json_t *value;
    json_object_foreach(weight_map, name, value)
    {
        char *shard = (char *)json_string_value(value);
        if (shard == NULL)
            return fail_user(error, "the place of tensor %s is not a file name", name);
        if (*shard == 0 || strchr(shard, '/') || strstr(shard, ".."))
            return fail_user(error, "tensor %s is said to be in %s, which is not a plain file name", name, shard);
        if (g_hash_table_add(seen, shard))
            g_ptr_array_add(shards, shard);
    }
    g_ptr_array_sort(shards, text_compare);
    return true;
}

static bool read_shards(TensorFile *file, const char *folder, json_t *weight_map, TensorReader read, GError **error)
{
    g_autoptr(GPtrArray) shards = g_ptr_array_new();
    if (!list_shards(weight_map, shards, error))
        return false;
    for (guint i = 0; i < shards->len; i++) {
        g_autofree char *path = g_build_filename(folder, shards->pdata[i], NULL);
        if (!tensor_file_read(file, path, &(Shard){ weight_map, shards->pdata[i] }, read, error))
            return false;
    }
    const char *name;
    json_t *shard;
    json_object_foreach(weight_map, name, shard)
    {
        if (tensor_file_find(file, name) == NULL)
            return fail_user(error, "tensor %s is not in %s", name, json_string_value(shard));
    }
    return true;
}

/* Reads the files that an index names, in the order of their names. It is an error if the index names something that is
 * not a file of this folder, or if a file lacks a tensor that it should have by the index. */
static bool read_index(TensorFile *file, const char *folder, const char *index, TensorReader read, GError **error)
{
    size_t bytes;
    g_autofree char *text = io_read_regular(index, MAX_INDEX_BYTES, &bytes, error);
    if (text == NULL)
        return false;
    json_error_t wrong;
    json_auto_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &wrong);
    json_t *weight_map = json_object_get(root, "weight_map");
    if (!json_is_object(weight_map))
        return fail_user(error, "%s: %s", index, root ? "weight_map is missing or not an object" : wrong.text);
    return read_shards(file, folder, weight_map, read, error) || fail_context(error, "%s", index);
}

static const struct {
    const char *name;
    TensorReader read;
} of_folders[] = {
    { "model.safetensors", safetensors_read },
    { "pytorch_model.bin", torch_read },
    { "adapter_model.safetensors", safetensors_read },
    { "adapter_model.bin", torch_read },
};

TensorFile *weights_open(const char *path, GError **error)
{
    g_autoptr(TensorFile) file = tensor_file_new();
    if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        return torch_recognises(path) ? torch_open(path, error) : safetensors_open(path, error);
    for (size_t i = 0; i < G_N_ELEMENTS(of_folders); i++) {
        g_autofree char *whole = g_build_filename(path, of_folders[i].name, NULL),
                        *index = g_strconcat(whole, ".index.json", NULL);
        if (g_file_test(whole, G_FILE_TEST_EXISTS))
            return tensor_file_open(whole, of_folders[i].read, error);
        if (g_file_test(index, G_FILE_TEST_EXISTS))
            return read_index(file, path, index, of_folders[i].read, error) ? g_steal_pointer(&file) : NULL;
    }
    if (!io_refused(path, error))
        fail_user(error, "%s holds neither %s nor %s, whole or in shards", path, of_folders[0].name,
                  of_folders[1].name);
    return NULL;
}
