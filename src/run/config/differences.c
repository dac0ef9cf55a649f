/* differences.c: the options of a run that are not the defaults. */
#include "run/config/config.h"
#include "run/config/layers.h"

#include <string.h>

static void free_difference(void *memory)
{
    OptionDifference *difference = memory;
    g_free(difference->value);
    g_free(difference->by_default);
    g_free(difference);
}

/* The settings of a run without those that have a default in recipe.h; and what these would be. */
static bool load_defaults(Config *defaults, const GPtrArray *saved, GError **error)
{
    g_autoptr(GPtrArray) said = option_settings_new();
    options_set_defaults(config_options(), defaults);
    for (guint i = 0; i < saved->len; i++) {
        const OptionSetting *setting = saved->pdata[i];
        if (!g_strv_contains(recipe_options, setting->name) || strcmp(setting->name, "optim.name") == 0)
            option_settings_add(said, setting->name, setting->value ? setting->value : "", setting->origin);
    }
    return options_apply(config_options(), defaults, said, error) && layers_apply_recipe(defaults, said, error);
}

static void compare_option(const OptionRow *row, const Config *config, const Config *defaults, GPtrArray *differences)
{
    const OptionTable *table = config_options();
    g_autofree char *value = options_plain_value(table, config, row),
                    *by_default = options_plain_value(table, defaults, row);
    if (strcmp(value, by_default) == 0 || strcmp(row->name, "run.dir") == 0)
        return;
    OptionDifference *difference = g_new(OptionDifference, 1);
    *difference = (OptionDifference){ row->name, g_steal_pointer(&value), g_steal_pointer(&by_default) };
    g_ptr_array_add(differences, difference);
}

GPtrArray *config_differences(const char *path, GError **error)
{
    const OptionTable *table = config_options();
    g_autoptr(GPtrArray) saved = option_settings_new();
    g_auto(Config) config = { 0 }, plain = { 0 }, recipe = { 0 };
    if (!option_settings_read_yaml(saved, path, error))
        return NULL;
    option_settings_rename(saved, table);
    options_set_defaults(table, &config);
    options_set_defaults(table, &plain);
    if (!options_apply(table, &config, saved, error) || !load_defaults(&recipe, saved, error))
        return NULL;
    plain.model.architecture = (int)model_config_nearest_architecture(&config.model);
    if (config.model.architecture == ARCHITECTURE_AUTO) /* a run of an earlier version */
        config.model.architecture = plain.model.architecture;
    GPtrArray *differences = g_ptr_array_new_with_free_func(free_difference);
    for (int g = 0; g < table->n_groups; g++)
        for (int i = 0; i < table->groups[g].n_rows; i++) {
            const OptionRow *row = &table->groups[g].rows[i];
            compare_option(row, &config, g_strv_contains(recipe_options, row->name) ? &recipe : &plain, differences);
        }
    return differences;
}
