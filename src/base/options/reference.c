/* options/reference.c: describes every option, for help, manual pages and docs/options.md. */
#include "base/options/row.h"
#include "base/text.h"

#include <string.h>

static char *accepted_text(const OptionRow *row)
{
    static const char *const kinds[] = {
        [OPT_BOOL] = "true, false", [OPT_I64] = "whole number",          [OPT_F64] = "number",
        [OPT_STRING] = "text",      [OPT_AMOUNT] = "number with a unit",
    };
    if (row->type == OPT_ENUM)
        return g_strjoinv(", ", (char **)(uintptr_t)row->choices);
    if (row->type == OPT_LIST) {
        g_autofree char *keys = option_list_keys(row);
        return g_strdup_printf("text, or list of maps: %s", keys);
    }
    g_autofree char *range = option_range_text(row);
    return g_strjoin(range ? " " : "", kinds[row->type], range ? range : "", NULL);
}

static char *default_text(const OptionRow *row, const char *const *by_model)
{
    if (g_strv_contains(by_model, row->name))
        return g_strdup("[by model](defaults.md)");
    return g_strdup_printf("`%s`", *row->default_value ? row->default_value : "\"\"");
}

static void write_markdown_row(GString *text, const OptionRow *row, const char *const *by_model)
{
    static const char *const resume[] = { [OPT_IDENTITY] = "refuses", [OPT_TUNABLE] = "logged", [OPT_FREE] = "free" };
    g_autofree char *accepted = accepted_text(row), *initial = default_text(row, by_model);
    GString *line = g_string_new(NULL);
    g_string_append_printf(line, "`%s`\x1f%s\x1f%s\x1f%s\x1f%s", row->name, initial, accepted, resume[row->class],
                           row->help);
    g_string_replace(line, "|", "\\|", 0);
    g_string_replace(line, "\x1f", " | ", 0);
    g_string_append_printf(text, "| %s |\n", line->str);
    g_string_free(line, TRUE);
}

char *options_to_markdown(const OptionTable *table, const char *const *by_model)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GPtrArray) rows = option_rows(table);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = option_row_at(rows, i);
        if (option_opens_group(rows, i))
            g_string_append_printf(text,
                                   "%s## %.*s\n\n| option | default | accepts | on resume | meaning |\n"
                                   "|---|---|---|---|---|\n",
                                   text->len ? "\n" : "", (int)option_group_length(row->name), row->name);
        write_markdown_row(text, row, by_model);
    }
    return g_string_free(text, FALSE);
}

static void write_text_row(GString *text, const OptionRow *row, const char *const *by_model, int width)
{
    static const char *const resume[] = { [OPT_IDENTITY] = "a resumed run must keep it",
                                          [OPT_TUNABLE] = "a resumed run may change it",
                                          [OPT_FREE] = "a resumed run may change it" };
    g_autofree char *accepted = accepted_text(row);
    const char *initial = g_strv_contains(by_model, row->name) ? "by model" : row->default_value;
    g_autofree char *facts =
        g_strdup_printf("(%s; default: %s; %s)", accepted, *initial ? initial : "none", resume[row->class]);
    g_string_append_printf(text, "%s\n", row->name);
    text_append_wrapped(text, row->help, 0, 4, width);
    text_append_wrapped(text, facts, 0, 4, width);
}

char *options_to_text(const OptionTable *table, const char *group, const char *const *by_model, int width)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GPtrArray) rows = option_rows(table);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = option_row_at(rows, i);
        bool is_group = group && strchr(group, '.') == NULL && option_same_group(row->name, group);
        if (group == NULL || is_group || strcmp(row->name, group) == 0)
            write_text_row(text, row, by_model, width);
    }
    return g_string_free(text, text->len == 0);
}

void options_each(const OptionTable *table, void (*visit)(const OptionRow *row, const char *accepts, gpointer data),
                  gpointer data)
{
    g_autoptr(GPtrArray) rows = option_rows(table);
    for (guint i = 0; i < rows->len; i++) {
        g_autofree char *accepts = accepted_text(option_row_at(rows, i));
        visit(option_row_at(rows, i), accepts, data);
    }
}
