#include "base/byte_stream.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/log.h"
#include "base/text.h"
#include "data/corpus/corpus.h"

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

/* The files that are listed, and CorpusOptions.format. */
typedef struct List {
    GPtrArray *files;
    RecordFormat format;
} List;

/* The format that the name of a file says. */
static RecordFormat format_of(const char *name, bool in_folder)
{
    const RecordFormat format = record_corpus_format_of_name(name);
    return format != RECORD_AUTO ? format : !in_folder && !strchr(name, '.') ? RECORD_TEXT : RECORD_FILE;
}

static void add_file(const List *list, const char *path, const struct stat *info, bool in_folder)
{
    g_autofree char *whole = g_path_get_basename(path), *name = byte_stream_stem(whole);
    const bool by_name = list->format == RECORD_AUTO, json = by_name && text_has_suffix(name, ".json");
    CorpusFile *file = g_new0(CorpusFile, 1);
    *file = (CorpusFile){ .path = g_strdup(path),
                          .format = by_name ? format_of(name, in_folder) : list->format,
                          .in_folder = in_folder,
                          .nameless = by_name && !strchr(name, '.'),
                          .bytes = (uint64_t)info->st_size };
    const RecordTraits *traits = record_traits(file->format);
    file->probe = in_folder && (file->format == RECORD_FILE || json);
    file->table = by_name && (traits->delimiter ? in_folder : !traits->values && !foreign_check_name(name, NULL));
    if (file->nameless || (in_folder && json)) {
        file->otherwise = json ? RECORD_FILE : file->format;
        file->format = RECORD_JSONL;
    }
    g_ptr_array_add(list->files, file);
}

static bool contains_itself(const Folder *parent, const struct stat *info)
{
    for (; parent; parent = parent->parent)
        if (parent->device == info->st_dev && parent->inode == info->st_ino)
            return true;
    return false;
}

/* Whether a folder holds no texts since `datasets` wrote it: an error for one that the user named. */
static bool is_foreign(const char *path, bool named, GError **error)
{
    g_autoptr(GError) problem = NULL;
    if (foreign_check_folder(path, &problem))
        return false;
    if (named)
        g_propagate_error(error, g_steal_pointer(&problem));
    else
        log_warning("left out: %s", problem->message);
    return true;
}

static bool add_folder(const List *list, const char *path, const struct stat *info, const Folder *parent,
                       GError **error)
{
    if (contains_itself(parent, info))
        return true;
    if (is_foreign(path, !parent, error))
        return parent != NULL;
    const Folder self = { parent, info->st_dev, info->st_ino };
    g_autoptr(GPtrArray) names = io_list_names(path, "", error);
    if (!names)
        return false;
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *child = g_build_filename(path, names->pdata[i], NULL);
        struct stat found;
        if (stat(child, &found) != 0)
            continue; /* a link whose target does not exist */
        if (S_ISDIR(found.st_mode) && !add_folder(list, child, &found, &self, error))
            return false;
        if (S_ISREG(found.st_mode))
            add_file(list, child, &found, true);
    }
    return true;
}

GPtrArray *corpus_files_list(char *const *paths, int n_paths, RecordFormat format, GError **error)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(file_free);
    const List list = { files, format };
    for (int i = 0; i < n_paths; i++) {
        const char *path = strcmp(paths[i], "-") == 0 ? BYTE_STREAM_STDIN : paths[i];
        struct stat info;
        if (stat(path, &info) != 0)
            return fail_errno(error, "cannot read", path);
        if (!S_ISDIR(info.st_mode))
            add_file(&list, path, &info, false);
        else if (!add_folder(&list, path, &info, NULL, error))
            return NULL;
    }
    return g_steal_pointer(&files);
}
