#include "data/labels.h"

#include <glib.h>
#include <string.h>

const char *const label_kind_names[] = {
    [LABELS_NONE] = "none", [LABELS_SEQUENCE] = "sequence", [LABELS_VALUE] = "value",  [LABELS_TOKENS] = "tokens",
    [LABELS_SPAN] = "span", [LABELS_CHOICE] = "choice",     [LABELS_CHOICE + 1] = NULL
};

char **labels_split(const char *names)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    GString *name = names && *names ? g_string_new(NULL) : NULL;
    for (const char *at = names; name; at++) {
        bool escaped = *at == '\\' && (at[1] == ',' || at[1] == '\\');
        if (escaped || (*at && *at != ',')) {
            at += escaped;
            g_string_append_c(name, *at);
            continue;
        }
        g_ptr_array_add(all, g_string_free(name, false));
        name = *at ? g_string_new(NULL) : NULL;
    }
    g_ptr_array_add(all, NULL);
    return (char **)g_ptr_array_steal(all, NULL);
}

char *labels_join(const char *const *names)
{
    GString *all = g_string_new(NULL);
    for (int i = 0; names[i]; i++) {
        if (i > 0)
            g_string_append_c(all, ',');
        for (const char *at = names[i]; *at; at++) {
            if (*at == ',' || (*at == '\\' && (at[1] == ',' || at[1] == '\\' || at[1] == '\0')))
                g_string_append_c(all, '\\');
            g_string_append_c(all, *at);
        }
    }
    return g_string_free(all, false);
}

int64_t labels_count(const char *names)
{
    g_auto(GStrv) all = labels_split(names);
    return g_strv_length(all);
}

int64_t labels_find(const char *names, const char *name)
{
    g_auto(GStrv) all = labels_split(names);
    for (int64_t i = 0; all[i]; i++)
        if (strcmp(all[i], name) == 0)
            return i;
    return -1;
}

char *labels_name(const char *names, int64_t label)
{
    g_auto(GStrv) all = labels_split(names);
    return g_strdup(all[label]);
}

bool labels_have_names(LabelKind kind)
{
    return kind == LABELS_SEQUENCE || kind == LABELS_TOKENS;
}

bool labels_check(const char *names, const char *option, GError **error)
{
    g_auto(GStrv) all = labels_split(names);
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
