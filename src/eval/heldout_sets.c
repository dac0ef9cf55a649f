#include "base/text.h"
#include "eval/heldout.h"

#include "data/language_weights.h"
#include "data/sources.h"

#include <string.h>

static void set_free(void *memory)
{
    HeldoutSet *set = memory;
    g_clear_pointer(&set->loader, loader_close);
    g_free(set->name);
    g_free(set->path_prefix);
    g_free(set);
}

static bool check_name(const GPtrArray *sets, const char *item, const char *name, GError **error)
{
    if (name == NULL && sets->len > 0)
        return fail_user(error, "data.valid: \"%s\" has no name; several sets are written NAME:PREFIX,NAME:PREFIX",
                         item);
    for (guint i = 0; i < sets->len; i++) {
        const HeldoutSet *set = sets->pdata[i];
        if (set->name == NULL)
            return fail_user(error, "data.valid: \"%s\" has no name; several sets are written NAME:PREFIX,NAME:PREFIX",
                             set->path_prefix);
        if (strcmp(set->name, name) == 0)
            return fail_user(error, "data.valid: two sets are named \"%s\"", name);
    }
    return true;
}

/* list: the dataset of the set, or several, as loader_open reads them. */
static bool add_heldout_set(GPtrArray *sets, const DataConfig *config, const char *name, const char *list,
                            const Tokenizer *tok, uint64_t seed, GError **error)
{
    g_auto(GStrv) paths = text_list(list);
    HeldoutSet *set = g_new0(HeldoutSet, 1);
    g_ptr_array_add(sets, set);
    set->name = g_strdup(name);
    set->path_prefix = g_strdup(paths[0] && !paths[1] ? paths[0] : list);
    set->loader = loader_open(config, list, tok, seed, true, error);
    return set->loader != NULL;
}

/* Adds the validation part of data.train (data.split) as the only set. */
static bool add_split(GPtrArray *sets, const DataConfig *config, const Tokenizer *tok, uint64_t seed, GError **error)
{
    g_autofree char *parts = sources_split_valid(config, error);
    return parts && (*parts == '\0' || add_heldout_set(sets, config, NULL, parts, tok, seed, error));
}

GPtrArray *heldout_sets_open(const DataConfig *config, const Tokenizer *tok, uint64_t seed, GError **error)
{
    g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(set_free);
    if (*config->valid == '\0')
        return add_split(sets, config, tok, seed, error) ? g_steal_pointer(&sets) : NULL;
    g_autofree char *list = language_weights_is(config->valid) ? language_weights_list(config->valid, true, error)
                                                               : g_strdup(config->valid);
    if (!list)
        return NULL;
    g_auto(GStrv) items = text_list(list);
    for (char **item = items; *item; item++) {
        const char *text = *item;
        size_t n = sources_valid_name(text);
        g_autofree char *name = n > 0 ? g_strndup(text, n) : NULL;
        const char *prefix = n > 0 ? text + n + 1 + strspn(text + n + 1, " \t") : text;
        g_autofree char *path = text_list_join((const char *const[]){ prefix, NULL });
        if (!check_name(sets, text, name, error) || !add_heldout_set(sets, config, name, path, tok, seed, error))
            return NULL;
    }
    return g_steal_pointer(&sets);
}

void heldout_sets_start_decoder(const GPtrArray *sets, int32_t id)
{
    for (guint i = 0; i < sets->len; i++)
        loader_start_decoder(((HeldoutSet *)sets->pdata[i])->loader, id);
}
