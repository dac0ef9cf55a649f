/* split.c: parts of a dataset by shares of its documents, and the names of parts. */
#include "data/dataset/dataset.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

#define MOST_SHARE 1e12

const char *const split_names[] = { "train", "valid", "test", NULL };

bool split_parse(double shares[SPLIT_PARTS], const char *text, GError **error)
{
    g_auto(GStrv) parts = g_strsplit_set(text, ",/", -1);
    guint n = g_strv_length(parts);
    bool good = n >= 1 && n <= SPLIT_PARTS;
    double sum = 0;
    memset(shares, 0, SPLIT_PARTS * sizeof *shares);
    for (guint i = 0; good && i < n; i++) {
        char *end, *part = g_strstrip(parts[i]);
        shares[i] = g_ascii_strtod(part, &end);
        good = end != part && *end == '\0' && shares[i] >= 0 && shares[i] <= MOST_SHARE;
        sum += shares[i];
    }
    return (good && sum > 0) ||
           fail_user(error, "%s: up to three numbers not below 0 are wanted, such as 949,50,1", text);
}

void split_boundaries(const double shares[SPLIT_PARTS], int64_t n, int64_t boundaries[SPLIT_PARTS + 1])
{
    double sum = 0;
    boundaries[0] = 0;
    for (int i = 0; i < SPLIT_PARTS; i++)
        sum += shares[i];
    for (int i = 0; i < SPLIT_PARTS; i++)
        boundaries[i + 1] = boundaries[i] + (int64_t)rint(shares[i] / sum * (double)n);
    int64_t over = boundaries[SPLIT_PARTS] - n;
    for (int i = 1; i <= SPLIT_PARTS; i++)
        boundaries[i] = CLAMP(boundaries[i] - over, boundaries[i - 1], n);
}

char *split_name(const char *prefix, const double shares[SPLIT_PARTS], int part)
{
    g_autoptr(GString) name = g_string_new(prefix);
    g_string_append_printf(name, "@%s", split_names[part]);
    for (int i = 0; i < SPLIT_PARTS; i++) {
        g_autofree char *share = text_number(shares[i]);
        g_string_append_printf(name, "%c%s", i == 0 ? ':' : '/', share);
    }
    return g_strdup(name->str);
}

int split_read_name(const char *path, int *part, double shares[SPLIT_PARTS], GError **error)
{
    const char *at = strrchr(path, '@'), *colon = at ? strchr(at, ':') : NULL;
    if (colon == NULL || at == path)
        return 0;
    g_autofree char *name = g_strndup(at + 1, (size_t)(colon - at) - 1);
    for (*part = 0; split_names[*part] && strcmp(name, split_names[*part]) != 0;)
        ++*part;
    if (split_names[*part] == NULL)
        return 0;
    if (split_parse(shares, colon + 1, error))
        return (int)(at - path);
    fail_context(error, "%s", path);
    return -1;
}
