/* search.c: what `loam help WORD` finds if WORD is no verb, group or option: options, presets, verbs and pages of the
 * documentation that mention it. */
#include "base/machine.h"
#include "cli/help/help.h"
#include "model/config/config.h"

#include <string.h>

/* Where a page mentions a word, the most telling place first. */
typedef enum Place { IN_TITLE, IN_HEADING, IN_TABLE, IN_TEXT } Place;

/* The titles, headings, first cells of tables and all other text of docs/, page after page, each page beginning with
 * its title (tools/index-docs). */
static const struct {
    const char *page;
    Place place;
    const char *text;
} index_rows[] = {
#include "cli/help/docs_index.inc"
};

/* Words with which another one is searched for, too. */
static const struct {
    const char *word, *also;
} synonyms[] = {
    { "lr", "learning rate" },     { "learning rate", "lr" },
    { "oom", "memory" },           { "cuda", "gpu" },
    { "nvidia", "gpu" },           { "container", "docker" },
    { "podman", "docker" },        { "resume", "going on" },
    { "install", "distribution" }, { "multi-node", "several machines" },
    { "semicolon", "delimiter" },  { "overfit", "patience" },
    { "summarization", "rouge" },  { "question answering", "squad" },
};

enum { NAME_WIDTH = 28, MOST_WORDS = 3 };

typedef struct Search {
    const char *words[MOST_WORDS]; /* plain words, any of which is looked for; the last one is NULL */
    int width;                     /* columns of a line */
    GString *options, *presets, *verbs, *pages;
} Search;

static bool joins(char c)
{
    return c == '-' || c == '_' || c == ' ';
}

/* The length of the part of `text` that is `word`, with any hyphens, underscores and blanks between its letters; 0 if
 * it does not start with it. */
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

/* Whether a word of the text starts with `word`; words of at most three letters must be the same, or its singular: "lr"
 * is not found in "lrc". */
static bool has_word(const char *text, const char *word)
{
    for (const char *c = text; *c; c++) {
        const size_t n = c == text || !g_ascii_isalnum(c[-1]) ? match_length(c, word) : 0;
        if (n > 0 && (strlen(word) > 3 || !g_ascii_isalnum(c[n + (c[n] == 's')])))
            return true;
    }
    return false;
}

static bool mentions(const Search *search, const char *text)
{
    for (const char *const *word = search->words; *word; word++)
        if (has_word(text, *word))
            return true;
    return false;
}

/* Adds a line of a name and its description, which is cut at the width. */
static void list_line(const Search *search, GString *list, const char *name, const char *description)
{
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "  %-*s %s", NAME_WIDTH, name, description);
    const bool cut = g_utf8_strlen(line->str, -1) > search->width;
    g_autofree char *shown = g_utf8_substring(line->str, 0, cut ? search->width - 1 : -1);
    g_string_append_printf(list, "%s%s\n", g_strchomp(shown), cut ? "…" : "");
}

static void search_option(const OptionRow *row, const char *accepts, gpointer data)
{
    Search *search = data;
    if (mentions(search, row->name) || mentions(search, row->help) || mentions(search, accepts))
        list_line(search, search->options, row->name, row->help);
}

static void search_verb(const HelpPage *page, gpointer data)
{
    Search *search = data;
    g_autofree char *name = g_strconcat("loam ", page->name, NULL);
    for (const GOptionEntry *entry = page->entries; entry->long_name; entry++)
        if (mentions(search, entry->long_name) || mentions(search, entry->description)) {
            g_autofree char *option = g_strconcat(name, " --", entry->long_name, NULL);
            list_line(search, search->verbs, option, entry->description);
        }
    g_autofree char *line = g_strndup(page->about, strcspn(page->about, "\n")),
                    *verb = g_strndup(page->name, strcspn(page->name, " "));
    if (mentions(search, page->name) || mentions(search, page->about) || mentions(search, cli_find_verb(verb)->does))
        list_line(search, search->verbs, name, line);
}

static void search_presets(Search *search)
{
    for (const char *const *name = model_preset_names; *name; name++)
        if (mentions(search, "preset") || mentions(search, *name)) {
            g_autofree char *setting = g_strconcat("model.preset=", *name, NULL);
            list_line(search, search->presets, setting, "");
        }
}

/* The folder of the documentation: that of an installed program or a bundle, otherwise docs, in the sources. g_free. */
static char *docs_folder(void)
{
    static const char *const places[] = { "../share/doc/loam/docs", "../../share/doc/loam/docs",
                                          "../../../share/doc/loam/docs", NULL };
    char *folder = machine_beside_program(places);
    return folder ? folder : g_strdup("docs");
}

/* Adds a line for the page whose rows of the index are first … end - 1, if its most telling mention is in this place:
 * of one in the text the heading above it. */
static void add_mention(Search *search, size_t first, size_t end, Place place, const char *folder)
{
    size_t best = end;
    for (size_t i = first; i < end; i++)
        if (mentions(search, index_rows[i].text) && (best == end || index_rows[i].place < index_rows[best].place))
            best = i;
    if (best == end || index_rows[best].place != place)
        return;
    while (place == IN_TEXT && index_rows[best].place > IN_HEADING)
        best--;
    g_autofree char *path = g_build_filename(folder, index_rows[best].page, NULL);
    list_line(search, search->pages, path, index_rows[best].text);
}

static bool has_found(const Search *search)
{
    return search->options->len + search->presets->len + search->verbs->len + search->pages->len > 0;
}

/* One line per page of the documentation; pages with the word in their title come first, and those with it only in
 * their text only if it is found nowhere else. */
static void search_docs(Search *search)
{
    g_autofree char *folder = docs_folder();
    for (Place place = IN_TITLE; place < IN_TEXT || (place == IN_TEXT && !has_found(search)); place++)
        for (size_t first = 0, end; first < G_N_ELEMENTS(index_rows); first = end) {
            for (end = first + 1; end < G_N_ELEMENTS(index_rows) && index_rows[end].place != IN_TITLE;)
                end++;
            add_mention(search, first, end, place, folder);
        }
}

/* The word in small letters, without what joins its parts and without an ending: "Fine-tuning" and "finetunes" are
 * "finetun". g_free. */
static char *plain_word(const char *word)
{
    static const struct {
        const char *ending;
        size_t least; /* letters before it */
    } endings[] = { { "ing", 4 }, { "ed", 4 }, { "es", 4 }, { "s", 4 }, { "e", 5 } };
    GString *plain = g_string_new(NULL);
    for (const char *c = word; *c; c++)
        if (!joins(*c))
            g_string_append_c(plain, g_ascii_tolower(*c));
    for (size_t i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_str_has_suffix(plain->str, endings[i].ending) &&
            plain->len >= strlen(endings[i].ending) + endings[i].least) {
            g_string_truncate(plain, plain->len - strlen(endings[i].ending));
            break;
        }
    return g_string_free(plain, false);
}

/* The plain form of the synonym of a plain word; NULL if it has none. g_free. */
static char *synonym_of(const char *plain)
{
    for (size_t i = 0; i < G_N_ELEMENTS(synonyms); i++) {
        g_autofree char *word = plain_word(synonyms[i].word);
        if (strcmp(word, plain) == 0)
            return plain_word(synonyms[i].also);
    }
    return NULL;
}

char *help_search(const char *word, const OptionTable *options, int width)
{
    g_autofree char *plain = plain_word(word), *synonym = synonym_of(plain);
    Search search = { { plain, synonym }, width, g_string_new(NULL), g_string_new(NULL), g_string_new(NULL),
                      g_string_new(NULL) };
    const struct {
        GString *list;
        const char *heading;
    } parts[] = { { search.options, "options, of which `loam help NAME` tells more:" },
                  { search.presets, "presets, whose sizes `loam help --presets` lists:" },
                  { search.verbs, "verbs and their options, of which `loam help VERB` tells more:" },
                  { search.pages, "pages of the documentation:" } };
    GString *text = g_string_new(NULL);
    if (*plain) {
        options_each(options, search_option, &search);
        search_presets(&search);
        cli_each_page(search_verb, &search);
        search_docs(&search);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (parts[i].list->len > 0)
            g_string_append_printf(text, "%s%s\n%s", text->len ? "\n" : "", parts[i].heading, parts[i].list->str);
        g_string_free(parts[i].list, true);
    }
    return g_string_free(text, text->len == 0);
}
