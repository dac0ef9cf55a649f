#include "data/data_config.h"

#include "base/text.h"

#include <string.h>

static bool read_shares(const DataConfig *config, double shares[SPLIT_PARTS], GError **error)
{
    return split_parse(shares, config->split, error) || fail_context(error, "data.split");
}

/* The list of datasets for one part (training, validation, test): each dataset of data.train with the suffix of that
 * part, as data.split says; "" if the validation part has share 0. A part in data.train counts as the training part. */
static char *cut_sources(const DataConfig *config, int part, GError **error)
{
    double shares[SPLIT_PARTS];
    if (!read_shares(config, shares, error))
        return NULL;
    if (part == SPLIT_VALID && shares[part] == 0)
        return g_strdup("");
    g_autoptr(Mixture) mixture = mixture_parse(config->train, error);
    if (!mixture)
        return NULL;
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(g_free);
    for (int k = 0; k < mixture->n; k++) {
        double own[SPLIT_PARTS];
        int own_part;
        g_autofree char *weight = text_number(mixture->given[k]);
        bool is_part = split_read_name(mixture->paths[k], &own_part, own, NULL) != 0;
        g_autofree char *name = is_part ? g_strdup(mixture->paths[k]) : split_name(mixture->paths[k], shares, part);
        if (is_part && part != SPLIT_TRAIN)
            continue;
        g_ptr_array_add(items, g_strconcat(name, mixture->weighted ? ":" : NULL, weight, NULL));
    }
    g_ptr_array_add(items, NULL);
    return text_list_join((const char *const *)items->pdata);
}

bool sources_check(const DataConfig *config, GError **error)
{
    double shares[SPLIT_PARTS];
    if (*config->split && !read_shares(config, shares, error))
        return false;
    if (language_weights_is(config->train) && !g_file_test(config->train, G_FILE_TEST_EXISTS))
        return true; /* `loam plan` works without data; a missing dataset is reported when it is opened */
    g_autoptr(Mixture) mixture = mixture_parse(config->train, error);
    return mixture && mixture_check(mixture, &config->mixture, error);
}

char *sources_train(const DataConfig *config, GError **error)
{
    return config->split && *config->split ? cut_sources(config, SPLIT_TRAIN, error) : g_strdup(config->train);
}

char *sources_split_valid(const DataConfig *config, GError **error)
{
    bool splits = config->split && *config->split && *config->train;
    return splits ? cut_sources(config, SPLIT_VALID, error) : g_strdup("");
}

size_t sources_valid_name(const char *item)
{
    size_t n = strspn(item, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return item[n] == ':' ? n : 0;
}

char *sources_resolve_path(const char *path)
{
    g_autofree char *whole = g_canonicalize_filename(path, NULL);
    return g_utf8_validate(whole, -1, NULL) ? g_steal_pointer(&whole) : g_strdup(path);
}

char *sources_resolve(const char *list, bool named)
{
    g_auto(GStrv) items = text_list(list);
    for (char **item = items; *item; item++) {
        size_t n = named ? sources_valid_name(*item) : 0;
        n += n > 0; /* includes the colon */
        g_autofree char *given = *item, *path = given[n] ? sources_resolve_path(given + n) : g_strdup("");
        *item = g_strdup_printf("%.*s%s", (int)n, given, strchr(path, ',') ? given + n : path);
    }
    return text_list_join((const char *const *)items);
}

char *sources_resolve_files(const char *files)
{
    if (g_file_test(files, G_FILE_TEST_EXISTS))
        return sources_resolve_path(files);
    return strchr(files, ',') ? sources_resolve(files, false) : g_strdup(files);
}
