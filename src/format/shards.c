#include "format/shards.h"

#include "base/file.h"

#include <string.h>

#define MAX_INDEX_BYTES 100000000

typedef json_t Json;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Json, json_decref)

bool shard_holds(const Shard *shard, const char *tensor)
{
    return shard->weight_map == NULL ||
           g_strcmp0(json_string_value(json_object_get(shard->weight_map, tensor)), shard->name) == 0;
}

static int by_shard_name(const void *a, const void *b)
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
            return fail_user(error, "tensor %s is said to be in %s, which is not a plain file name", name, shard);
        if (g_hash_table_add(seen, shard))
            g_ptr_array_add(shards, shard);
    }
    g_ptr_array_sort(shards, by_shard_name);
    return true;
}

static bool read_shards(TensorFile *file, const char *folder, Json *weight_map, ShardReader read, GError **error)
{
    g_autoptr(GPtrArray) shards = g_ptr_array_new();
    if (!list_shards(weight_map, shards, error))
        return false;
    for (guint i = 0; i < shards->len; i++) {
        g_autofree char *path = g_build_filename(folder, shards->pdata[i], NULL);
        if (!read(file, path, &(Shard){ weight_map, shards->pdata[i] }, error))
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

static bool read_index(TensorFile *file, const char *folder, const char *path, ShardReader read, GError **error)
{
    size_t bytes;
    g_autofree char *text = io_read_regular(path, MAX_INDEX_BYTES, &bytes, error);
    if (text == NULL)
        return false;
    json_error_t wrong;
    g_autoptr(Json) root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &wrong);
    Json *weight_map = json_object_get(root, "weight_map");
    if (!json_is_object(weight_map))
        return fail_user(error, "%s: %s", path, root ? "weight_map is missing or not an object" : wrong.text);
    return read_shards(file, folder, weight_map, read, error) || fail_context(error, "%s", path);
}

static char *index_path(const char *folder, const char *single)
{
    g_autofree char *name = g_strconcat(single, ".index.json", NULL);
    return g_build_filename(folder, name, NULL);
}

bool shards_present(const char *folder, const char *single)
{
    g_autofree char *path = g_build_filename(folder, single, NULL), *index = index_path(folder, single);
    return g_file_test(path, G_FILE_TEST_EXISTS) || g_file_test(index, G_FILE_TEST_EXISTS);
}

TensorFile *shards_open(const char *folder, const char *single, ShardReader read, GError **error)
{
    g_autoptr(TensorFile) file = tensor_file_new();
    g_autofree char *path = g_build_filename(folder, single, NULL), *index = index_path(folder, single);
    bool done = g_file_test(path, G_FILE_TEST_EXISTS) ? read(file, path, &(Shard){ 0 }, error)
                                                      : read_index(file, folder, index, read, error);
    return done ? g_steal_pointer(&file) : NULL;
}
