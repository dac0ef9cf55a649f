#include "data/labels.h"

#include "base/text.h"

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
