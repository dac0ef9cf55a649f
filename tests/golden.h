/* golden.h: files that other programs wrote. tests/golden has small ones, made by tools/make-golden.py; a checkout
 * beside which real ones lie (../shared/data) is tested on those too. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define GOLDEN LOAM_SOURCE_DIR "/tests/golden/"
#define SHARED LOAM_SOURCE_DIR "/../shared/data/"

/* g_test_add_func of a case that reads `file`, where that is here. */
static inline void add_where_present(const char *file, const char *path, GTestFunc test)
{
    if (g_file_test(file, G_FILE_TEST_EXISTS))
        g_test_add_func(path, test);
}
