/* options/list.c: reads a YAML list as the value of an option. */
#include "base/options/row.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

/* Whether `key` is this entry of OptionRow.choices, which may end with a question mark. */
static bool is_key(const char *choice, const char *key)
{
    size_t n = strcspn(choice, "?");
    return strncmp(choice, key, n) == 0 && key[n] == '\0';
}

char *option_list_keys(const OptionRow *row)
{
    g_autofree char *keys = g_strjoinv(", ", (char **)(uintptr_t)row->choices);
    g_auto(GStrv) parts = g_strsplit(keys, "?", -1);
    return g_strjoinv("", parts);
}

static const char *item_value(char *const *item, const char *choice)
{
    for (; *item; item += 2)
        if (is_key(choice, item[0]))
            return item[1];
    return NULL;
}

/* Appends the values of an item in the order of the row's keys. */
static bool pick_values(const OptionRow *row, char *const *item, GPtrArray *values, GError **error)
{
    g_autofree char *keys = option_list_keys(row);
    for (const char *const *key = row->choices; *key; key++) {
        const char *value = item_value(item, *key);
        bool left_out = value == NULL && g_str_has_suffix(*key, "?");
        if (!left_out && (value == NULL || *value == '\0'))
            return fail_user(error, "no %.*s; an item has %s", (int)strcspn(*key, "?"), *key, keys);
        if (value)
            g_ptr_array_add(values, (gpointer)value);
    }
    return g_strv_length((char **)(uintptr_t)item) == 2 * values->len ||
           fail_user(error, "an unknown key; an item has %s", keys);
}

/* An item of a list without keys; NULL on error. */
static char *plain_item(char *const *item, GError **error)
{
    if (item[0] && *item[0] == '\0')
        return g_strdup(item[1]);
    fail_user(error, "one value is wanted, not a map");
    return NULL;
}

/* NULL on error. */
static char *join_item(const OptionRow *row, char *const *item, GError **error)
{
    g_autoptr(GPtrArray) values = g_ptr_array_new();
    bool bare = item[0] && *item[0] == '\0';
    if (bare)
        g_ptr_array_add(values, item[1]);
    else if (!pick_values(row, item, values, error))
        return NULL;
    g_ptr_array_add(values, NULL);
    char *text = g_strjoinv(":", (char **)values->pdata);
    if (strchr(text, ',') == NULL)
        return text;
    fail_user(error, "a comma ends an item, so none can be in it");
    g_free(text);
    return NULL;
}

char *option_list_join(const OptionRow *row, const GPtrArray *items, GError **error)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    if (row->type != OPT_LIST) {
        fail_user(error, "%s: a list is not accepted here, write one value", row->name);
        return NULL;
    }
    for (guint i = 0; i < items->len; i++) {
        char *text = row->choices ? join_item(row, items->pdata[i], error) : plain_item(items->pdata[i], error);
        if (!text) {
            fail_context(error, "%s: item %u", row->name, i + 1);
            return NULL;
        }
        g_ptr_array_add(texts, text);
    }
    g_ptr_array_add(texts, NULL);
    return text_list_join((const char *const *)texts->pdata);
}
