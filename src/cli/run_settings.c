#include "cli/run_settings.h"

#include "base/options/options.h"
#include "run/checkpoint/checkpoint.h"
#include "run/run_dir.h"

#include <stdint.h>

GHashTable *run_settings_tokenizers(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

/* Hash of the tokenizer that a run's newest checkpoint was trained with; NULL means unknown. g_free. */
static char *tokenizer_hash_of(const char *dir)
{
    g_autoptr(GArray) steps = run_checkpoints(dir);
    g_autoptr(GError) ignored = NULL;
    g_auto(ModelConfig) model = { 0 };
    g_autofree char *hash = NULL;
    if (steps->len == 0)
        return NULL;
    g_autofree char *folder = run_checkpoint_path(dir, g_array_index(steps, int64_t, 0));
    return checkpoint_config(folder, &model, &hash, &ignored) ? g_steal_pointer(&hash) : NULL;
}

bool run_settings_read(GPtrArray *settings, GHashTable *tokenizers, const char *dir, GError **error)
{
    g_autofree char *config = g_build_filename(dir, "config.yaml", NULL);
    if (!option_settings_read_yaml(settings, config, error))
        return false;
    g_autofree char *hash = tokenizer_hash_of(dir);
    const char *path = option_settings_find(settings, "tokenizer.path");
    const char *first = hash ? g_hash_table_lookup(tokenizers, hash) : NULL;
    if (first)
        option_settings_add(settings, "tokenizer.path", first, "the first run of this tokenizer");
    else if (hash && path)
        g_hash_table_insert(tokenizers, g_steal_pointer(&hash), g_strdup(path));
    return true;
}
