#include "data/corpus/corpus_reading.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* A folder that is being read, linked to its parents up to the path that the user gave; detects loops of links. */
typedef struct Folder {
    const struct Folder *parent;
    dev_t device;
    ino_t inode;
} Folder;

static void file_free(void *pointer)
{
    CorpusFile *file = pointer;
    g_free(file->path);
    g_free(file);
}

static bool is_table(const char *name)
{
    static const char *const suffixes[] = { ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".xlsx" };
    const char *suffix = strrchr(name, '.');
    for (size_t i = 0; suffix && i < G_N_ELEMENTS(suffixes); i++)
        if (g_ascii_strcasecmp(suffix, suffixes[i]) == 0)
            return true;
    return false;
}

static void add_file(GPtrArray *files, const char *path, const struct stat *info, bool in_folder)
{
    g_autofree char *name = g_path_get_basename(path);
    if (g_str_has_suffix(name, ".gz") || g_str_has_suffix(name, ".zst"))
        *strrchr(name, '.') = 0;
    CorpusFile *file = g_new0(CorpusFile, 1);
    file->path = g_strdup(path);
    file->bytes = (uint64_t)info->st_size;
    if (g_str_has_suffix(name, ".jsonl") || g_str_has_suffix(name, ".json")) {
        file->kind = CORPUS_JSON;
        file->probe = in_folder && g_str_has_suffix(name, ".json");
    } else if (g_str_has_suffix(name, ".txt") || (!in_folder && !strchr(name, '.'))) {
        file->kind = CORPUS_TEXT; /* a file without a suffix, such as a pipe, is text */
    } else {
        file->kind = is_table(name) ? CORPUS_TABLE : CORPUS_WHOLE_FILE;
        file->probe = in_folder;
    }
    g_ptr_array_add(files, file);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static GPtrArray *list_names(const char *path, GError **error)
{
    g_autoptr(GError) reason = NULL;
    GDir *dir = g_dir_open(path, 0, &reason);
    if (!dir) {
        fail_user(error, "%s", reason->message);
        return NULL;
    }
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(dir));)
        if (name[0] != '.')
            g_ptr_array_add(names, g_strdup(name));
    g_dir_close(dir);
    g_ptr_array_sort(names, compare_names);
    return names;
}

static bool contains_itself(const Folder *parent, const struct stat *info)
{
    for (; parent; parent = parent->parent)
        if (parent->device == info->st_dev && parent->inode == info->st_ino)
            return true;
    return false;
}

static bool add_folder(GPtrArray *files, const char *path, const struct stat *info, const Folder *parent,
                       GError **error)
{
    if (contains_itself(parent, info))
        return true;
    const Folder self = { parent, info->st_dev, info->st_ino };
    g_autoptr(GPtrArray) names = list_names(path, error);
    if (!names)
        return false;
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *child = g_build_filename(path, names->pdata[i], NULL);
        struct stat found;
        if (stat(child, &found) != 0)
            continue; /* a link whose target does not exist */
        if (S_ISDIR(found.st_mode) && !add_folder(files, child, &found, &self, error))
            return false;
        if (S_ISREG(found.st_mode))
            add_file(files, child, &found, true);
    }
    return true;
}

GPtrArray *corpus_files_list(char *const *paths, int n_paths, GError **error)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(file_free);
    for (int i = 0; i < n_paths; i++) {
        struct stat info;
        const bool absent = stat(paths[i], &info) != 0;
        if (absent && strcmp(paths[i], "-") == 0)
            fail_user(error, "there is no file -; standard input is named /dev/stdin");
        else if (absent)
            fail_errno(error, "cannot read", paths[i]);
        if (absent)
            return NULL;
        if (!S_ISDIR(info.st_mode))
            add_file(files, paths[i], &info, false);
        else if (!add_folder(files, paths[i], &info, NULL, error))
            return NULL;
    }
    return g_steal_pointer(&files);
}
