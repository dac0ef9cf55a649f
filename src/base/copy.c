#include "base/copy.h"

#include "base/error.h"
#include "base/file.h"
#include "base/whole.h"

#include <errno.h>
#include <stdio.h>

#define DEEPEST 8 /* levels of folders */

static bool copy_bytes(FILE *from, IoFile *to, const char *path, GError **error)
{
    char buffer[1 << 16];
    uint64_t done = 0, bytes = whole_size(fileno(from));
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, from)) > 0; done += n)
        if (!io_write(to, buffer, n, error))
            return false;
    if (ferror(from))
        return fail_errno(error, "reading", path);
    return whole_check(path, done, bytes, error);
}

bool io_copy_file(const char *from, const char *to, GError **error)
{
    FILE *source = fopen(from, "r");
    if (source == NULL)
        return errno == ENOENT || fail_errno(error, "reading", from);
    IoFile *target = io_create(to, error);
    bool copied = target && copy_bytes(source, target, from, error);
    fclose(source);
    if (copied)
        return io_close(target, true, error);
    io_abort(target);
    return false;
}

static bool copy_tree(const char *from, const char *to, int depth, GError **error)
{
    g_autoptr(GDir) entries = depth < DEEPEST ? g_dir_open(from, 0, NULL) : NULL;
    const char *name;
    bool copied = entries == NULL || io_make_directories(to, error);
    while (copied && entries && (name = g_dir_read_name(entries))) {
        g_autofree char *source = g_build_filename(from, name, NULL), *target = g_build_filename(to, name, NULL);
        if (g_file_test(source, G_FILE_TEST_IS_REGULAR))
            copied = io_copy_file(source, target, error);
        else if (g_file_test(source, G_FILE_TEST_IS_DIR))
            copied = copy_tree(source, target, depth + 1, error);
    }
    return copied;
}

bool io_copy_tree(const char *from, const char *to, GError **error)
{
    return copy_tree(from, to, 0, error);
}
