/* search.c: what `loam help WORD` finds if WORD is no verb, group or option: options, presets and pages of verbs that
 * mention it. */
#include "cli/help/help.h"
#include "model/config/config.h"

#include <string.h>

typedef struct Search {
    char *word; /* without hyphens, underscores and the s of a plural */
    int width;  /* columns of a line */
    GString *options, *presets, *pages;
} Search;

static bool joins(char c)
{
    return c == '-' || c == '_';
}

/* The length of the part of `text` that is `word`, with any hyphens and underscores between its letters; 0 if it does
 * not start with it. */
static size_t match_length(const char *text, const char *word)
{
    size_t n = 0;
    for (; *word; word++, n++) {
        while (n > 0 && joins(text[n]))
            n++;
        if (g_ascii_tolower(text[n]) != *word)
            return 0;
    }
    return n;
}

/* Whether a word of the text starts with `word`; words of at most three letters must be the same: "lr" is not found in
 * "lrc". */
static bool mentions(const char *text, const char *word)
{
    for (const char *c = text; *c; c++) {
        const size_t n = c == text || !g_ascii_isalnum(c[-1]) ? match_length(c, word) : 0;
        if (n > 0 && (strlen(word) > 3 || !g_ascii_isalnum(c[n])))
            return true;
    }
    return false;
}

/* Adds a line of a name and its description, which is cut at the width. */
static void add_line(const Search *search, GString *list, const char *name, const char *description)
{
    enum { NAME = 28 };
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "  %-*s %s", NAME, name, description);
    const bool cut = g_utf8_strlen(line->str, -1) > search->width;
    g_autofree char *shown = g_utf8_substring(line->str, 0, cut ? search->width - 1 : -1);
    g_string_append_printf(list, "%s%s\n", g_strchomp(shown), cut ? "…" : "");
}

static void search_option(const OptionRow *row, const char *accepts, gpointer data)
{
    Search *search = data;
    if (mentions(row->name, search->word) || mentions(row->help, search->word) || mentions(accepts, search->word))
        add_line(search, search->options, row->name, row->help);
}

static void search_page(const HelpPage *page, gpointer data)
{
    Search *search = data;
    g_autofree char *name = g_strconcat("loam ", page->name, NULL);
    for (const GOptionEntry *entry = page->entries; entry->long_name; entry++)
        if (mentions(entry->long_name, search->word) || mentions(entry->description, search->word)) {
            g_autofree char *option = g_strconcat(name, " --", entry->long_name, NULL);
            add_line(search, search->pages, option, entry->description);
        }
    g_autofree char *line = g_strndup(page->about, strcspn(page->about, "\n")),
                    *verb = g_strndup(page->name, strcspn(page->name, " "));
    if (mentions(page->name, search->word) || mentions(page->about, search->word) ||
        mentions(cli_find_verb(verb)->does, search->word))
        add_line(search, search->pages, name, line);
}

static void search_presets(Search *search)
{
    for (const char *const *name = model_preset_names; *name; name++)
        if (mentions("preset", search->word) || mentions(*name, search->word)) {
            g_autofree char *setting = g_strconcat("model.preset=", *name, NULL);
            add_line(search, search->presets, setting, "");
        }
}

static char *plain_word(const char *word)
{
    GString *plain = g_string_new(NULL);
    for (const char *c = word; *c; c++)
        if (!joins(*c))
            g_string_append_c(plain, g_ascii_tolower(*c));
    if (plain->len > 4 && plain->str[plain->len - 1] == 's')
        g_string_truncate(plain, plain->len - 1);
    return g_string_free(plain, false);
}

char *help_search(const char *word, const OptionTable *options, int width)
{
    Search search = { plain_word(word), width, g_string_new(NULL), g_string_new(NULL), g_string_new(NULL) };
    const struct {
        GString *list;
        const char *heading;
    } parts[] = { { search.options, "options, of which `loam help NAME` tells more:" },
                  { search.presets, "presets, whose sizes `loam help --presets` lists:" },
                  { search.pages, "verbs and their options, of which `loam help VERB` tells more:" } };
    GString *text = g_string_new(NULL);
    if (*search.word) {
        options_each(options, search_option, &search);
        search_presets(&search);
        cli_each_page(search_page, &search);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (parts[i].list->len > 0)
            g_string_append_printf(text, "%s%s\n%s", text->len ? "\n" : "", parts[i].heading, parts[i].list->str);
        g_string_free(parts[i].list, true);
    }
    g_free(search.word);
    return g_string_free(text, text->len == 0);
}
