/* yaml_text.h: reads YAML text as the file run.yaml of a folder of its own. */
#pragma once

#include "base/file.h"
#include "base/options/options.h"

#include <unistd.h>

static inline bool read_yaml(GPtrArray *settings, const char *yaml, size_t bytes, GError **error)
{
    g_autofree char *folder = g_dir_make_tmp("loam-XXXXXX", NULL), *before = g_get_current_dir();
    g_assert_true(chdir(folder) == 0 && g_file_set_contents("run.yaml", yaml, (gssize)bytes, NULL));
    const bool read = option_settings_read_yaml(settings, "run.yaml", error);
    g_assert_true(chdir(before) == 0 && io_remove_tree(folder, NULL));
    return read;
}
