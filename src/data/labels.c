#include "data/labels.h"

#include "base/log.h"
#include "base/python_text.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

const char *const label_kind_names[] = {
    [LABELS_NONE] = "none", [LABELS_SEQUENCE] = "sequence", [LABELS_VALUE] = "value",  [LABELS_TOKENS] = "tokens",
    [LABELS_SPAN] = "span", [LABELS_CHOICE] = "choice",     [LABELS_CHOICE + 1] = NULL
};

int64_t labels_count(const char *names)
{
    g_auto(GStrv) all = text_list(names);
    return g_strv_length(all);
}

int64_t labels_find(const char *names, const char *name)
{
    g_auto(GStrv) all = text_list(names);
    for (int64_t i = 0; all[i]; i++)
        if (strcmp(all[i], name) == 0)
            return i;
    return -1;
}

char *labels_name(const char *names, int64_t label)
{
    g_auto(GStrv) all = text_list(names);
    return g_strdup(all[label]);
}

bool labels_have_names(LabelKind kind)
{
    return kind == LABELS_SEQUENCE || kind == LABELS_TOKENS;
}

bool labels_check(const char *names, const char *option, GError **error)
{
    g_auto(GStrv) all = text_list(names);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    if (names && !g_utf8_validate(names, -1, NULL))
        return fail_user(error, "%s: the names of the classes are not UTF-8", option);
    for (char **name = all; *name; name++) {
        if (**name == '\0')
            return fail_user(error, "%s: \"%s\" has an empty name between its commas", option, names);
        if (!g_hash_table_add(seen, *name))
            return fail_user(error, "%s: \"%s\" names the class %s twice", option, names, *name);
    }
    return true;
}

/* ---- other names ---- */

bool labels_check_renamed(const char *old, const char *names, GError **error)
{
    g_auto(GStrv) before = text_list(old), after = text_list(names);
    if (g_strv_length(before) != g_strv_length(after))
        return true;
    for (guint i = 0; before[i]; i++) {
        const int64_t other = labels_find(old, after[i]);
        if (other >= 0 && other != i)
            return fail_user(error,
                             "model.labels=%s: the model's classes are %s in this order, and its class %s would be "
                             "called %s; leave model.labels out, or give other names in the model's order",
                             names, old, before[i], after[i]);
    }
    return true;
}

void labels_tell_renamed(const char *old, const char *names)
{
    g_auto(GStrv) before = text_list(old), after = text_list(names);
    g_autoptr(GString) text = g_string_new(NULL);
    if (g_strv_length(before) != g_strv_length(after))
        return;
    for (guint i = 0; before[i]; i++)
        if (strcmp(before[i], after[i]) != 0)
            g_string_append_printf(text, "%s%s -> %s", text->len ? ", " : "", before[i], after[i]);
    if (text->len)
        log_info("the model's classes get other names: %s", text->str);
}

/* ---- names that look alike ---- */

/* A character that shows nothing and takes no place, such as a zero-width space, a byte order mark or the choice of an
 * emoji's style; unlike the letters (tags) that say which flag an emoji is. */
static bool is_widthless(gunichar c)
{
    const GUnicodeType type = g_unichar_type(c);
    return (type == G_UNICODE_FORMAT && !(c >= 0xe0020 && c <= 0xe007f)) ||
           (type == G_UNICODE_CONTROL && !g_unichar_isspace(c)) || (c >= 0xfe00 && c <= 0xfe0f);
}

char *labels_key(const char *name, bool joined)
{
    double number;
    if (python_float(&number, name) && number == rint(number) && fabs(number) < 0x1p53)
        return text_number(number);
    g_autofree char *one = g_utf8_normalize(name, -1, G_NORMALIZE_ALL_COMPOSE),
                    *folded = g_utf8_casefold(one ? one : name, -1),
                    *again = g_utf8_normalize(folded, -1, G_NORMALIZE_ALL_COMPOSE);
    GString *key = g_string_new(NULL);
    bool blank = false;
    for (const char *at = again ? again : folded; *at; at = g_utf8_next_char(at)) {
        const gunichar c = g_utf8_get_char(at);
        const bool widthless = is_widthless(c);
        blank |= g_unichar_isspace(c) || (widthless && !joined);
        if (g_unichar_isspace(c) || widthless)
            continue;
        if (blank && key->len > 0)
            g_string_append_c(key, ' ');
        blank = false;
        g_string_append_unichar(key, c);
    }
    return g_string_free(key, false);
}

char *labels_shown(const char *name)
{
    g_autofree char *composed = g_utf8_normalize(name, -1, G_NORMALIZE_DEFAULT_COMPOSE);
    const bool apart = composed && strcmp(composed, name) != 0;
    GString *shown = g_string_new("\"");
    for (const char *at = name; *at; at = g_utf8_next_char(at)) {
        const gunichar c = g_utf8_get_char(at);
        if ((c != ' ' && g_unichar_isspace(c)) || is_widthless(c) || (apart && g_unichar_ismark(c)))
            g_string_append_printf(shown, "[U+%04X]", c);
        else
            g_string_append_unichar(shown, c);
    }
    return g_string_free(g_string_append_c(shown, '"'), false);
}

static bool find_alike(const GPtrArray *names, bool joined, char **a, char **b)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < names->len; i++) {
        char *key = labels_key(names->pdata[i], joined);
        const char *other = g_hash_table_lookup(seen, key);
        g_hash_table_insert(seen, key, names->pdata[i]);
        if (!other)
            continue;
        *a = labels_shown(other);
        *b = labels_shown(names->pdata[i]);
        return true;
    }
    return false;
}

bool labels_find_alike(const GPtrArray *names, char **a, char **b)
{
    return find_alike(names, false, a, b) || find_alike(names, true, a, b);
}
