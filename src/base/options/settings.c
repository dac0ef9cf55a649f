/* options/settings.c: lists of settings, as they come from files and the command line. */
#include "base/error.h"
#include "base/options/options.h"

#include <string.h>

static void setting_free(gpointer element)
{
    OptionSetting *setting = element;
    g_free(setting->name);
    g_free(setting->value);
    g_free(setting->origin);
    g_clear_pointer(&setting->items, g_ptr_array_unref);
    g_free(setting);
}

GPtrArray *option_settings_new(void)
{
    return g_ptr_array_new_with_free_func(setting_free);
}

void option_settings_add(GPtrArray *settings, const char *name, const char *value, const char *origin)
{
    OptionSetting *setting = g_new(OptionSetting, 1);
    *setting = (OptionSetting){ .name = g_strdup(name), .value = g_strdup(value), .origin = g_strdup(origin) };
    g_ptr_array_add(settings, setting);
}

bool option_settings_parse(GPtrArray *settings, const char *assignment, GError **error)
{
    const char *equals = strchr(assignment, '=');
    if (equals == NULL || equals == assignment)
        return fail_user(error, "\"%s\" is not an override; write group.key=value", assignment);
    g_autofree char *name = g_strndup(assignment, (gsize)(equals - assignment));
    option_settings_add(settings, name, equals + 1, "command line");
    return true;
}

static void rename_setting(OptionSetting *setting, const OptionRename *rename)
{
    g_free(setting->name);
    setting->name = g_strdup(rename->name);
    for (const char *const *value = rename->values; value && *value && setting->value; value += 2)
        if (strcmp(setting->value, value[0]) == 0) {
            g_free(setting->value);
            setting->value = g_strdup(value[1]);
            return;
        }
}

void option_settings_rename(GPtrArray *settings, const OptionTable *table)
{
    for (guint i = 0; i < settings->len; i++) {
        OptionSetting *setting = settings->pdata[i];
        for (int g = 0; g < table->n_groups; g++)
            for (const OptionRename *rename = table->groups[g].renames; rename && rename->former; rename++)
                if (strcmp(setting->name, rename->former) == 0) {
                    rename_setting(setting, rename);
                    g = table->n_groups;
                    break;
                }
    }
}

const char *option_settings_find(const GPtrArray *settings, const char *name)
{
    for (guint i = settings->len; i > 0; i--) {
        const OptionSetting *setting = g_ptr_array_index(settings, i - 1);
        if (strcmp(setting->name, name) == 0)
            return setting->value;
    }
    return NULL;
}
