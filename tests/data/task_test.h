/* task_test.h: what the tests of data/task share. */
#pragma once

#include "data/task/task.h"

#include "data/data_test.h"

static inline OptionTable task_table(void)
{
    static const OptionGroup *group;
    if (!group) {
        OptionGroup *only = g_new(OptionGroup, 1);
        *only = (OptionGroup){ task_options, n_task_options, 0, NULL };
        group = only;
    }
    return (OptionTable){ group, 1, NULL };
}

/* The options task.* with these settings ("task.name=rte", …, NULL); task_config_clear. */
static inline TaskConfig task_config_of(char *const *settings)
{
    const OptionTable table = task_table();
    TaskConfig config = { 0 };
    g_autoptr(GPtrArray) list = option_settings_new();
    g_autoptr(GError) error = NULL;
    options_set_defaults(&table, &config);
    for (; *settings; settings++)
        g_assert_true(option_settings_parse(list, *settings, &error));
    g_assert_true(options_apply(&table, &config, list, &error));
    return config;
}

static inline void task_config_clear(TaskConfig *config)
{
    const OptionTable table = task_table();
    options_clear(&table, config);
}
