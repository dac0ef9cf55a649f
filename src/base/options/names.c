/* options/names.c: what to tell about an option name that does not exist. */
#include "base/options/row.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

#define MOST_LISTED 8 /* options of a group that an error names one by one */

/* The name that was probably meant: an option of the same key in another group, else the nearest key of the same group,
 * else the nearest whole name. NULL if none is near. */
static char *nearest_name(const GPtrArray *rows, const char *name)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new(), names = g_ptr_array_new();
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = option_row_at(rows, i);
        if (strcmp(option_key(row->name), option_key(name)) == 0)
            return g_strdup(row->name);
        if (option_same_group(row->name, name))
            g_ptr_array_add(keys, (gpointer)option_key(row->name));
        g_ptr_array_add(names, (gpointer)row->name);
    }
    bool group_exists = keys->len > 0;
    g_ptr_array_add(keys, NULL);
    g_ptr_array_add(names, NULL);
    if (!group_exists)
        return g_strdup(text_nearest(name, (const char *const *)names->pdata));
    const char *key = text_nearest(option_key(name), (const char *const *)keys->pdata);
    return key ? g_strdup_printf("%.*s.%s", (int)option_group_length(name), name, key) : NULL;
}

/* A sentence that lists the keys of the name's group, or the three nearest of many keys; or all groups if the group
 * does not exist. */
static char *existing_names(const GPtrArray *rows, const char *name)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new(), groups = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = option_row_at(rows, i);
        if (option_same_group(row->name, name))
            g_ptr_array_add(keys, (gpointer)option_key(row->name));
        if (option_opens_group(rows, i))
            g_ptr_array_add(groups, g_strndup(row->name, option_group_length(row->name)));
    }
    bool many = keys->len > MOST_LISTED, none = keys->len == 0;
    g_ptr_array_add(keys, NULL);
    g_ptr_array_add(groups, NULL);
    g_autofree char *list = many ? text_nearest_few(option_key(name), (const char *const *)keys->pdata)
                                 : g_strjoinv(", ", (char **)(none ? groups : keys)->pdata);
    if (none)
        return g_strdup_printf("the groups are %s", list);
    return g_strdup_printf("%.*s has %s%s", (int)option_group_length(name), name, list,
                           many ? " and more; `loam help --options` lists them all" : "");
}

bool option_fail_unknown(const OptionTable *table, const char *name, GError **error)
{
    g_autoptr(GPtrArray) rows = option_rows(table);
    g_autofree char *nearest = nearest_name(rows, name);
    if (nearest)
        return fail_user(error, "unknown option %s, did you mean %s?", name, nearest);
    g_autofree char *exists = existing_names(rows, name);
    return fail_user(error, "unknown option %s; %s", name, exists);
}
