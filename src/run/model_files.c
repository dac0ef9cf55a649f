#include "run/model_files.h"

#include "base/file.h"
#include "model/hf/hf.h"
#include "run/model_path.h"

#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    AT_ONCE = 1 << 20
}; /* bytes that are read at once, since pages of a mapped file would count as memory of a rank */

static bool is_of_model(const char *name)
{
    return g_str_has_suffix(name, ".safetensors") || g_str_has_suffix(name, ".bin") ||
           strcmp(name, "config.json") == 0 || strcmp(name, "adapter_config.json") == 0 ||
           strcmp(name, "state.json") == 0;
}

static int by_file_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the model's files, sorted. */
static GPtrArray *list_files(const char *folder)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));)
        if (is_of_model(name))
            g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, by_file_name);
    return names;
}

/* The hash of a file that comes after files with the hash `before`. */
static uint64_t hash_file(const char *folder, const char *name, uint64_t before)
{
    g_autofree char *path = g_build_filename(folder, name, NULL), *part = g_malloc(AT_ONCE);
    size_t bytes = 0;
    const int fd = io_open_regular(path, &bytes, NULL);
    const uint64_t of_name = XXH3_64bits_withSeed(name, strlen(name), before);
    const uint64_t of_size = XXH3_64bits_withSeed(&bytes, sizeof bytes, of_name);
    XXH3_state_t *hash = XXH3_createState();
    XXH3_64bits_reset_withSeed(hash, of_size);
    for (ssize_t n; fd >= 0 && (n = read(fd, part, AT_ONCE)) > 0;)
        XXH3_64bits_update(hash, part, (size_t)n);
    const uint64_t value = bytes > 0 ? XXH3_64bits_digest(hash) : of_size;
    XXH3_freeState(hash);
    if (fd >= 0)
        close(fd);
    return value;
}

static bool take_folder(const char *folder, void *context, GError **error)
{
    (void)folder, (void)context, (void)error;
    return true;
}

uint64_t model_files_hash(const char *path)
{
    g_autofree char *folder = hf_is_folder(path) ? g_strdup(path) : checkpoint_open(path, take_folder, NULL, NULL);
    g_autoptr(GPtrArray) names = folder ? list_files(folder) : g_ptr_array_new();
    uint64_t hash = 0;
    for (guint i = 0; i < names->len; i++)
        hash = hash_file(folder, names->pdata[i], hash);
    return hash;
}
