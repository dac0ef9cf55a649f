/* data_test.h: what the tests of the data floor share. */
#pragma once

#include "base/file.h"

#include <string.h>

/* The macro, so that a failure names the caller's line. */
#define assert_same(got, want, bytes) g_assert_true(memcmp(got, want, bytes) == 0)

/* An empty folder of its own; folder_remove deletes it with all it holds. */
static inline char *folder_new(void)
{
    char *path = g_dir_make_tmp("loam-test-XXXXXX", NULL);
    g_assert_nonnull(path);
    return path;
}

static inline void folder_remove(char *folder)
{
    g_assert_true(io_remove_tree(folder, NULL));
    g_free(folder);
}

/* Writes FOLDER/NAME, with its folders; returns the path, to g_free. */
static inline char *file_write(const char *folder, const char *name, const void *data, size_t bytes)
{
    char *path = g_build_filename(folder, name, NULL);
    g_autofree char *parent = g_path_get_dirname(path);
    g_assert_true(io_make_directories(parent, NULL));
    g_assert_true(g_file_set_contents(path, data, (gssize)bytes, NULL));
    return path;
}

static inline char *file_write_text(const char *folder, const char *name, const char *text)
{
    return file_write(folder, name, text, strlen(text));
}
