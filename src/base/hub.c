#include "base/hub.h"

#include "base/file.h"

#include <string.h>

/* Whether only letters follow the last dot: tok.model, but not Llama-3.2-1B. */
static bool has_suffix(const char *path)
{
    const char *dot = strrchr(path, '.');
    while (dot && g_ascii_isalpha(dot[1]))
        dot++;
    return dot && dot[1] == '\0';
}

/* Whether the path looks like NAME or OWNER/NAME, there is no folder OWNER, and OWNER is no name that such folders have
 * in the documentation. */
static bool reads_as_name(const char *path)
{
    static const char *const local[] = { "runs", "data", "models", "corpus", "tutorial", NULL };
    if (has_suffix(path))
        return false;
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    guint n = g_strv_length(parts);
    for (guint i = 0; i < n; i++)
        if (!g_ascii_isalnum(parts[i][0]) ||
            strspn(parts[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") != strlen(parts[i]))
            return false;
    return n == 1 || (n == 2 && !g_strv_contains(local, parts[0]) && !g_file_test(parts[0], G_FILE_TEST_EXISTS));
}

char *hub_hint(const char *path)
{
    if (!reads_as_name(path))
        return g_strdup("");
    const char *slash = strchr(path, '/'), *folder = slash ? slash + 1 : path;
    return g_strdup_printf(
        "; if it is a model of huggingface.co, fetch it first, since loam opens no connection: git clone "
        "https://huggingface.co/%s (and Git LFS) or hf download %s --local-dir %s",
        path, path, folder);
}

void *hub_fail_absent(const char *path, const char *what, GError **error)
{
    if (io_refused(path, error))
        return NULL;
    g_autofree char *hint = hub_hint(path);
    return fail_user(error, "%s: no such %s%s", path, what, hint);
}
