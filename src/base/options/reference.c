/* options/reference.c: describes every option, for help, manual pages and docs/options.md. */
#include "base/options/list.h"
#include "base/options/table.h"
#include "base/options/value.h"

static char *accepted_text(const OptionRow *row)
{
    static const char *const kinds[] = {
        [OPT_BOOL] = "true, false", [OPT_I64] = "whole number", [OPT_F64] = "number",
        [OPT_STRING] = "text",      [OPT_AMOUNT] = "amount",
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

typedef struct Reference {
    const char *const *by_model;
    GString *text;
} Reference;

static char *default_text(const OptionRow *row, const char *const *by_model)
{
    if (g_strv_contains(by_model, row->name))
        return g_strdup("[by model](defaults.md)");
    return g_strdup_printf("`%s`", *row->default_value ? row->default_value : "\"\"");
}

static void write_markdown_row(const OptionRow *row, bool opens, gpointer data)
{
    static const char *const resume[] = { [OPT_IDENTITY] = "refuses", [OPT_TUNABLE] = "logged", [OPT_FREE] = "free" };
    const Reference *reference = data;
    GString *text = reference->text;
    if (opens)
        g_string_append_printf(text,
                               "%s## %.*s\n\n| option | default | accepts | on resume | meaning |\n"
                               "|---|---|---|---|---|\n",
                               text->len ? "\n" : "", (int)option_group_length(row->name), row->name);
    g_autofree char *accepted = accepted_text(row), *initial = default_text(row, reference->by_model);
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
    Reference reference = { by_model, g_string_new(NULL) };
    options_by_group(table, write_markdown_row, &reference);
    return g_string_free(reference.text, FALSE);
}

typedef struct Visitor {
    void (*visit)(const OptionRow *row, const char *accepts, gpointer data);
    gpointer data;
} Visitor;

static void visit_row(const OptionRow *row, bool opens, gpointer data)
{
    (void)opens;
    const Visitor *visitor = data;
    g_autofree char *accepts = accepted_text(row);
    visitor->visit(row, accepts, visitor->data);
}

void options_each(const OptionTable *table, void (*visit)(const OptionRow *row, const char *accepts, gpointer data),
                  gpointer data)
{
    Visitor visitor = { visit, data };
    options_by_group(table, visit_row, &visitor);
}
