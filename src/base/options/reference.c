/* options/reference.c: describes every option, for help, manual pages and docs/options. */
#include "base/options/row.h"
#include "base/text.h"

#include <string.h>

enum { MARKDOWN_WIDTH = 120 }; /* columns of a line, as everywhere in docs/ */

static char *accepted_text(const OptionRow *row)
{
    static const char *const kinds[] = {
        [OPT_BOOL] = "true, false", [OPT_I64] = "whole number",          [OPT_F64] = "number",
        [OPT_STRING] = "text",      [OPT_AMOUNT] = "number with a unit",
    };
    if (row->type == OPT_ENUM)
        return g_strjoinv(", ", (char **)(uintptr_t)row->choices);
    if ((row->type == OPT_LIST && row->choices == NULL) || row->choices == option_files)
        return g_strdup("text, or list");
    if (row->type == OPT_LIST) {
        g_autofree char *keys = option_list_keys(row);
        return g_strdup_printf("text, or list of maps: %s", keys);
    }
    g_autofree char *range = option_range_text(row);
    return g_strjoin(range ? " " : "", kinds[row->type], range ? range : "", NULL);
}

/* The same in fewer words: "1…8", "number 0…1", "amount 0…". */
static char *accepted_item(const OptionRow *row)
{
    g_autofree char *text = accepted_text(row);
    if (row->type != OPT_I64 && row->type != OPT_F64 && row->type != OPT_AMOUNT)
        return g_steal_pointer(&text);
    static const char *const words[][2] = {
        { "whole number ", "" },
        { "number with a unit", "amount" },
        { "between ", "" },
        { " and ", "…" },
    };
    GString *item = g_string_new(text);
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        g_string_replace(item, words[i][0], words[i][1], 1);
    const char *least = strstr(item->str, "at least ");
    if (least) {
        const gssize at = least - item->str;
        g_string_erase(item, at, (gssize)strlen("at least "));
        g_string_insert(item, at + (gssize)strcspn(item->str + at, ","), "…");
    }
    return g_string_free(item, FALSE);
}

static char *default_text(const OptionRow *row, const char *const *by_model)
{
    if (g_strv_contains(by_model, row->name))
        return g_strdup("[by model](../defaults.md)");
    return g_strdup_printf("`%s`", *row->default_value ? row->default_value : "\"\"");
}

/* An item of a list: - `optim.lr` (`1e-3`; number 0…10; logged): peak learning rate */
static void write_markdown_row(GString *text, const OptionRow *row, const char *const *by_model)
{
    const char *resume = row->class == OPT_FREE ? "; free" : row->class & OPT_LOGGED ? "; logged" : "";
    const bool is_any = row->type == OPT_BOOL || row->type == OPT_STRING ||
                        (row->type == OPT_LIST && row->choices == NULL); /* the default says what is accepted */
    g_autofree char *accepted = accepted_item(row), *initial = default_text(row, by_model);
    g_autofree char *item = g_strdup_printf("`%s` (%s%s%s%s): %s", row->name, initial, is_any ? "" : "; ",
                                            is_any ? "" : accepted, resume, row->help);
    g_string_append_c(text, '-');
    text_append_wrapped(text, item, 1, 2, MARKDOWN_WIDTH);
}

char *options_to_markdown(const OptionTable *table, const char *group, const char *const *by_model)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GPtrArray) rows = option_rows(table);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
        if (group && !option_same_group(row->name, group))
            continue;
        if (option_opens_group(rows, i))
            g_string_append_printf(text, "%s# Options of %.*s\n\n[How to read this](../options.md).\n\n",
                                   text->len ? "\n" : "", (int)option_group_length(row->name), row->name);
        write_markdown_row(text, row, by_model);
    }
    return g_string_free(text, text->len == 0);
}

static void write_text_row(GString *text, const OptionRow *row, const char *const *by_model, int width)
{
    g_autofree char *accepted = accepted_text(row);
    const char *initial = g_strv_contains(by_model, row->name) ? "by model" : row->default_value;
    g_autofree char *facts =
        g_strdup_printf("(%s; default: %s; a resumed run %s it)", accepted, *initial ? initial : "none",
                        row->class == OPT_IDENTITY ? "must keep" : "may change");
    g_string_append_printf(text, "%s\n", row->name);
    text_append_wrapped(text, row->help, 0, 4, width);
    text_append_wrapped(text, facts, 0, 4, width);
}

char *options_to_text(const OptionTable *table, const char *group, const char *const *by_model, int width)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GPtrArray) rows = option_rows(table);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
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
        g_autofree char *accepts = accepted_text(rows->pdata[i]);
        visit(rows->pdata[i], accepts, data);
    }
}
