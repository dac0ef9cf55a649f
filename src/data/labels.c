#include "data/labels.h"

#include <glib.h>
#include <string.h>

const char *const label_kind_names[] = {
    [LABELS_NONE] = "none", [LABELS_SEQUENCE] = "sequence", [LABELS_VALUE] = "value",  [LABELS_TOKENS] = "tokens",
    [LABELS_SPAN] = "span", [LABELS_CHOICE] = "choice",     [LABELS_CHOICE + 1] = NULL
};

int64_t labels_count(const char *names)
{
    int64_t n = names && *names;
    for (const char *at = names; at && (at = strchr(at, ',')); at++)
        n++;
    return n;
}

int64_t labels_find(const char *names, const char *name)
{
    g_auto(GStrv) all = g_strsplit(names ? names : "", ",", -1);
    for (int64_t i = 0; all[i]; i++)
        if (strcmp(all[i], name) == 0)
            return i;
    return -1;
}

char *labels_name(const char *names, int64_t label)
{
    g_auto(GStrv) all = g_strsplit(names, ",", -1);
    return g_strdup(all[label]);
}
