#include "base/line.h"

#include "base/error.h"

#include <errno.h>

bool line_read(GString *line, FILE *file, GError **error)
{
    g_string_truncate(line, 0);
    for (int c; (c = getc_unlocked(file)) != EOF;) {
        g_string_append_c(line, (char)c);
        if (c == '\n')
            return true;
        if (line->len > LINE_MOST_BYTES)
            return fail_user(error, "a line longer than 64 MiB");
    }
    return !ferror(file) || fail_machine(error, "reading it failed: %s", g_strerror(errno));
}
