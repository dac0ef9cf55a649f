#include "run/task_set.h"

#include "base/file.h"
#include "data/data_config.h"

#include <string.h>

static OptionTable table_of(OptionGroup *group)
{
    *group = (OptionGroup){ task_options, n_task_options, 0, NULL };
    return (OptionTable){ .groups = group, .n_groups = 1 };
}

static char *path_of(const char *prefix)
{
    return g_strconcat(prefix, ".task.yaml", NULL);
}

bool task_set_write(const char *prefix, const TaskConfig *config, GError **error)
{
    OptionGroup group;
    const OptionTable table = table_of(&group);
    g_autofree char *path = path_of(prefix), *data = sources_resolve_files(config->data),
                    *valid = sources_resolve_files(config->valid);
    TaskConfig resolved = *config;
    resolved.data = data;
    resolved.valid = valid;
    g_autofree char *yaml = options_to_yaml(&table, &resolved);
    return io_write_file(path, yaml, strlen(yaml), error);
}

bool task_set_read(const char *prefix, TaskConfig *config, bool *found, GError **error)
{
    OptionGroup group;
    const OptionTable table = table_of(&group);
    g_autoptr(GPtrArray) settings = option_settings_new();
    g_autofree char *path = path_of(prefix);
    options_set_defaults(&table, config);
    *found = g_file_test(path, G_FILE_TEST_EXISTS);
    return !*found ||
           (option_settings_read_yaml(settings, path, error) && options_apply(&table, config, settings, error));
}

void task_set_clear(TaskConfig *config)
{
    OptionGroup group;
    const OptionTable table = table_of(&group);
    options_clear(&table, config);
}
