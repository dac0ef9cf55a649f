/* yaml_text.h: reads YAML text as the file run.yaml of a folder in memory, which is the working folder from then on and
 * goes when the program ends. */
#pragma once

#include "base/file.h"
#include "base/options/options.h"

#include <stdlib.h>
#include <unistd.h>

static char *yaml_folder;

static void yaml_folder_remove(void)
{
    io_remove_tree(yaml_folder, NULL);
}

static inline bool read_yaml(GPtrArray *settings, const char *yaml, size_t bytes, GError **error)
{
    if (yaml_folder == NULL) {
        yaml_folder = g_strdup("/dev/shm/loam-yaml-XXXXXX");
        g_assert_true(g_mkdtemp(yaml_folder) && atexit(yaml_folder_remove) == 0);
    }
    g_assert_true(chdir(yaml_folder) == 0);
    FILE *file = fopen("run.yaml", "w");
    g_assert_true(file && fwrite(yaml, 1, bytes, file) == bytes && fclose(file) == 0);
    return option_settings_read_yaml(settings, "run.yaml", error);
}
