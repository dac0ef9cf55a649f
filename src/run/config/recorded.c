/* recorded.c: the options that each checkpoint records, and the comparison of a resumed run with them: unlike
 * config.yaml, a checkpoint is under a checksum. */
#include "run/checkpoint/checkpoint.h"
#include "run/config/config.h"
#include "run/run_dir.h"

#include <string.h>

/* Options of class IDENTITY whose values are paths, which no checkpoint holds. What lies there is compared in other
 * ways, or was read at the first start only. */
static const char *const paths[] = { "train.init", "task.valid", NULL };

static bool is_recorded(const OptionRow *row)
{
    return row->class == OPT_LEARNING || (row->class == OPT_IDENTITY && !g_strv_contains(paths, row->name));
}

bool config_is_learning(const char *name)
{
    const OptionRow *row = options_find(config_options(), name);
    return row && (is_recorded(row) || strcmp(name, "train.skip_samples") == 0);
}

char *config_shape_of_sources(const char *sources)
{
    GString *shape = g_string_new(NULL);
    Mixture *mixture = mixture_parse(sources, NULL);
    for (int k = 0; mixture && k < mixture->n; k++) {
        int part = 0;
        double shares[SPLIT_PARTS] = { 0 };
        const int prefix = split_read_name(mixture->paths[k], &part, shares, NULL);
        g_string_append_printf(shape, "%sPATH%s", k > 0 ? "," : "", prefix > 0 ? mixture->paths[k] + prefix : "");
        if (mixture->weighted)
            g_string_append_printf(shape, ":%.17g", mixture->given[k]);
    }
    g_clear_pointer(&mixture, mixture_free);
    return g_string_free(shape, FALSE);
}

/* The value that is recorded of an option. g_free. */
static char *recorded_value(const Config *config, const OptionRow *row)
{
    return strcmp(row->name, "data.train") == 0 ? config_shape_of_sources(config->data.train)
                                                : options_plain_value(config_options(), config, row);
}

json_t *config_record(const Config *config)
{
    json_t *record = json_object();
    const OptionRow *row;
    for (int i = 0; (row = options_at(config_options(), i)); i++) {
        g_autofree char *value = is_recorded(row) ? recorded_value(config, row) : NULL;
        if (value)
            json_object_set_new(record, row->name, json_string(value));
    }
    return record;
}

/* The recorded options that this program knows. */
static GPtrArray *recorded_settings(const json_t *record, const char *origin)
{
    GPtrArray *settings = option_settings_new();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)record, name, value)
    {
        if (json_is_string(value))
            option_settings_add(settings, name, json_string_value(value), origin);
    }
    option_settings_rename(settings, config_options());
    for (guint i = settings->len; i-- > 0;) {
        const OptionSetting *setting = settings->pdata[i];
        const OptionRow *row = options_find(config_options(), setting->name);
        if (row == NULL || !is_recorded(row))
            g_ptr_array_remove_index(settings, i);
    }
    return settings;
}

static void change_free(void *memory)
{
    ConfigChange *change = memory;
    g_free(change->was);
    g_free(change->is);
    g_free(change);
}

GPtrArray *config_changes_new(void)
{
    return g_ptr_array_new_with_free_func(change_free);
}

void config_changes_add(GPtrArray *changes, const OptionRow *row, char *was, char *is)
{
    g_ptr_array_add(changes, g_memdup2(&(ConfigChange){ row, was, is, false }, sizeof(ConfigChange)));
}

GPtrArray *config_record_changes(const Config *config, const json_t *record, const char *origin, GError **error)
{
    const OptionTable *table = config_options();
    g_autoptr(GPtrArray) settings = recorded_settings(record, origin), changes = config_changes_new();
    g_auto(Config) recorded = { 0 };
    options_set_defaults(table, &recorded);
    for (guint i = 0; i < settings->len; i++) {
        const OptionSetting *setting = settings->pdata[i];
        const OptionRow *row = options_find(table, setting->name);
        const bool is_shape = strcmp(row->name, "data.train") == 0;
        g_autoptr(GPtrArray) one = option_settings_new();
        option_settings_add(one, setting->name, setting->value, origin);
        if (!is_shape && !options_apply(table, &recorded, one, error))
            return NULL;
        g_autofree char *was = is_shape ? g_strdup(setting->value) : options_value(table, &recorded, row),
                        *is = is_shape ? recorded_value(config, row) : options_value(table, config, row);
        if (strcmp(was, is) != 0)
            config_changes_add(changes, row, g_steal_pointer(&was), g_steal_pointer(&is));
    }
    return g_steal_pointer(&changes);
}

RunRecord config_record_of_run(const char *dir)
{
    RunRecord record = { 0 };
    g_autoptr(GArray) steps = run_checkpoints(dir);
    for (guint i = 0; i < steps->len && record.options == NULL; i++) {
        g_free(record.folder);
        record.folder = run_checkpoint_path(dir, g_array_index(steps, int64_t, i));
        record.options = checkpoint_options(record.folder, NULL);
    }
    if (record.options == NULL)
        g_clear_pointer(&record.folder, g_free);
    return record;
}

void config_record_clear(RunRecord *record)
{
    g_clear_pointer(&record->folder, g_free);
    g_clear_pointer(&record->options, json_decref);
}
