/* fuzz_folder.h: a folder in memory for readers that want one; it goes when the program ends. */
#pragma once

#include "base/check.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char *fuzz_folder_path;

static void fuzz_folder_remove(void)
{
    io_remove_tree(fuzz_folder_path, NULL);
}

static const char *fuzz_folder(void)
{
    if (fuzz_folder_path == NULL) {
        fuzz_folder_path = g_strdup("/dev/shm/loam-fuzz-XXXXXX");
        CHECK(g_mkdtemp(fuzz_folder_path), "%s", fuzz_folder_path);
        atexit(fuzz_folder_remove);
    }
    return fuzz_folder_path;
}

/* Replaces FOLDER/NAME. */
static inline void fuzz_put(const char *name, const void *data, size_t bytes)
{
    g_autofree char *path = g_build_filename(fuzz_folder(), name, NULL);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && close(fd) == 0, "%s", path);
}

/* Replaces FOLDER/NAME, unless it holds these bytes since the last time. For files that are only read. */
static inline void fuzz_keep(const char *name, const void *data, size_t bytes)
{
    static GHashTable *held; /* name -> GBytes */
    if (held == NULL)
        held = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    GBytes *before = g_hash_table_lookup(held, name), *now = g_bytes_new(data, bytes);
    if (before && g_bytes_equal(before, now)) {
        g_bytes_unref(now);
        return;
    }
    fuzz_put(name, data, bytes);
    g_hash_table_insert(held, g_strdup(name), now);
}
