/* man.c: manual pages, in the man macros of roff. */
#include "base/file.h"
#include "cli/help/help.h"

#include <string.h>

typedef struct Manual {
    const char *dir;
    GError **error;
    bool good;
    GString *see_also;
} Manual;

/* Escapes backslashes and hyphens, and lines that start like a roff request. */
static void add_roff_text(GString *page, const char *text)
{
    for (const char *c = text; *c; c++) {
        bool begins = c == text || c[-1] == '\n';
        if (begins && (*c == '.' || *c == '\''))
            g_string_append(page, "\\&");
        if (*c == '\\')
            g_string_append(page, "\\e");
        else if (*c == '-')
            g_string_append(page, "\\-");
        else
            g_string_append_c(page, *c);
    }
}

static GString *page_new(const char *name, const char *section, const char *does)
{
    GString *page = g_string_new(NULL);
    g_autofree char *title = g_ascii_strup(name, -1);
    g_string_append_printf(page, ".TH %s %s \"\" \"loam %s\" \"loam\"\n.SH NAME\n", title, section, LOAM_VERSION);
    add_roff_text(page, name);
    g_string_append(page, " \\- ");
    add_roff_text(page, does);
    g_string_append_c(page, '\n');
    return page;
}

/* Paragraphs are filled by man; lines that begin with a blank are examples. */
static void add_about(GString *page, const char *about)
{
    g_string_append(page, ".SH DESCRIPTION\n");
    g_auto(GStrv) paragraphs = g_strsplit(about, "\n\n", -1);
    for (char **paragraph = paragraphs; *paragraph; paragraph++) {
        const bool example = **paragraph == ' ';
        g_strchomp(*paragraph);
        g_string_append(page, example ? ".PP\n.nf\n" : ".PP\n");
        add_roff_text(page, *paragraph);
        g_string_append(page, example ? "\n.fi\n" : "\n");
    }
}

static void add_options(GString *page, const GOptionEntry *entries)
{
    if (entries->long_name)
        g_string_append(page, ".SH OPTIONS\n");
    for (const GOptionEntry *entry = entries; entry->long_name; entry++) {
        g_string_append(page, ".TP\n\\fB");
        g_autofree char *name = g_strconcat("--", entry->long_name, NULL);
        add_roff_text(page, name);
        g_string_append_printf(page, "\\fR%s%s%s\n", entry->arg_description ? " \\fI" : "",
                               entry->arg_description ? entry->arg_description : "",
                               entry->arg_description ? "\\fR" : "");
        add_roff_text(page, entry->description);
        g_string_append_c(page, '\n');
    }
}

static bool write_page(const char *dir, const char *file, GString *page, GError **error)
{
    g_autofree char *path = g_build_filename(dir, file, NULL);
    bool good = io_write_file(path, page->str, page->len, error);
    g_string_free(page, TRUE);
    return good;
}

/* The one-line description of a verb; for an action ("bench step") that of its verb. */
static const char *does_of(const char *name)
{
    g_autofree char *first = g_strndup(name, strcspn(name, " "));
    const SubVerb *verb = cli_find_verb(first);
    return verb ? verb->does : "";
}

static void write_verb(const HelpPage *help, gpointer data)
{
    Manual *manual = data;
    g_autofree char *name = g_strconcat("loam-", help->name, NULL), *usage = g_strconcat(help->usage, "\n", NULL);
    g_strdelimit(name, " ", '-');
    GString *page = page_new(name, "1", does_of(help->name));
    g_string_append(page, ".SH SYNOPSIS\n");
    add_roff_text(page, usage);
    add_about(page, help->about);
    add_options(page, help->entries);
    g_string_append(page, ".SH SEE ALSO\n.BR loam (1),\n.BR loam\\-config (5)\n");
    g_autofree char *file = g_strconcat(name, ".1", NULL);
    manual->good = manual->good && write_page(manual->dir, file, page, manual->error);
    g_string_append_printf(manual->see_also, "%s.BR %s (1)", manual->see_also->len ? ",\n" : "", name);
}

static bool write_program(const Manual *manual)
{
    GString *page = page_new("loam", "1", "pre-train and fine-tune T5, BERT and GPT models");
    g_string_append(page, ".SH SYNOPSIS\n\\fBloam\\fR \\fIVERB\\fR …\n.SH VERBS\n");
    for (const SubVerb *verb = cli_verbs; verb->name; verb++) {
        g_string_append_printf(page, ".TP\n\\fB%s\\fR\n", verb->name);
        add_roff_text(page, verb->does);
        g_string_append_c(page, '\n');
    }
    g_string_append(page, ".SH EXIT STATUS\n0 done; 1 a mistake in use, configuration or input; 2 a failure of the "
                          "machine; 75 stopped on request with a checkpoint written.\n.SH SEE ALSO\n");
    g_string_append_printf(page, "%s,\n.BR loam\\-config (5)\n", manual->see_also->str);
    return write_page(manual->dir, "loam.1", page, manual->error);
}

static void add_config_option(const OptionRow *row, const char *accepts, gpointer data)
{
    GString *page = data;
    g_string_append(page, ".TP\n\\fB");
    add_roff_text(page, row->name);
    g_string_append(page, "\\fR (");
    add_roff_text(page, accepts);
    g_string_append(page, "; default ");
    add_roff_text(page, *row->default_value ? row->default_value : "none");
    g_string_append(page, ")\n");
    add_roff_text(page, row->help);
    g_string_append_c(page, '\n');
}

bool help_write_man(const char *dir, const OptionTable *options, GError **error)
{
    Manual manual = { .dir = dir, .error = error, .good = true, .see_also = g_string_new(NULL) };
    if (!io_make_directories(dir, error))
        return false;
    cli_each_page(write_verb, &manual);
    GString *page = page_new("loam-config", "5", "the configuration of a run of loam");
    g_string_append(page,
                    ".SH DESCRIPTION\nA YAML file of groups, and any number of \\fIgroup.key=value\\fR after it on "
                    "the command line.\n.SH OPTIONS\n");
    options_each(options, add_config_option, page);
    manual.good = manual.good && write_page(dir, "loam-config.5", page, error) && write_program(&manual);
    g_string_free(manual.see_also, TRUE);
    return manual.good;
}
