#include "cli/wrap.h"

#include "base/text.h"

#include <string.h>

/* A paragraph is filled; lines that begin with a blank are examples and stay as they are. */
static void add_about(GString *page, const char *about, int columns)
{
    g_auto(GStrv) paragraphs = g_strsplit(about, "\n\n", -1);
    for (char **paragraph = paragraphs; *paragraph; paragraph++) {
        if (paragraph > paragraphs)
            g_string_append_c(page, '\n');
        g_strchomp(*paragraph);
        if (**paragraph == ' ')
            g_string_append_printf(page, "%s\n", *paragraph);
        else
            text_append_wrapped(page, *paragraph, 0, 0, columns);
    }
}

/* The description goes on below its beginning, or, on a narrow terminal, a little indented. */
static void wrap_option(GString *page, const char *line, int columns)
{
    const char *name = line + strspn(line, " "), *gap = strstr(name, "  ");
    if (gap == NULL) {
        g_string_append_printf(page, "%s\n", line);
        return;
    }
    const char *description = gap + strspn(gap, " ");
    g_autofree char *start = g_strndup(line, (gsize)(description - line) - 1);
    const glong column = g_utf8_strlen(start, -1);
    g_string_append(page, start);
    text_append_wrapped(page, description, column, column < columns / 2 ? (int)column + 1 : 8, columns);
}

char *wrap_help(const char *usage, const char *about, const char *options, int columns)
{
    if (columns == 0)
        return g_strdup_printf("usage: %s\n\n%s\n%s", usage, about, options);
    GString *page = g_string_new("usage:");
    text_append_wrapped(page, usage, 6, 7, columns);
    g_string_append_c(page, '\n');
    add_about(page, about, columns);
    g_string_append_c(page, '\n');
    g_auto(GStrv) lines = g_strsplit(options, "\n", -1);
    for (char **line = lines; *line && (**line || line[1]); line++)
        wrap_option(page, *line, columns);
    return g_string_free(page, false);
}
