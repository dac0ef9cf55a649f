#include "cli/model_config.h"

#include "base/file.h"
#include "model/hf/hf.h"

#include <string.h>

/* A run's held-out examples are those that it kept at its start, unless other files are named. */
static void use_copy(Config *config, const char *dir, char **overrides, int n_overrides)
{
    static const char *const names[] = { "task.data=", "task.valid=", "task.name=", NULL };
    g_autofree char *valid = g_build_filename(dir, "task", "train-valid", NULL);
    for (int i = 0; i < n_overrides; i++)
        for (const char *const *name = names; *name; name++)
            if (g_str_has_prefix(overrides[i], *name))
                return;
    task_use_copy(&config->task, valid);
}

char *cli_answer_length(const char *name, const char *value)
{
    const char *dot = strrchr(name, '.');
    static const char *const lengths[] = { "max_tokens", "max_new_tokens", "max_length", NULL };
    g_autofree char *key = g_strdelimit(g_strdup(dot ? dot + 1 : name), "-", '_');
    const bool number = value && *value && value[strspn(value, "0123456789")] == '\0';
    return g_strv_contains(lengths, key)
               ? g_strconcat("data.target_length", number ? "=" : "", number ? value : "", NULL)
               : NULL;
}

/* Fails for an option of an answer's length by its name in other programs: max_new_tokens=20. */
static bool check_length(const char *override, GError **error)
{
    const char *equals = strchr(override, '=');
    g_autofree char *name = equals ? g_strndup(override, (size_t)(equals - override)) : NULL,
                    *length = name ? cli_answer_length(name, equals + 1) : NULL;
    return !length || fail_user(error, "unknown option %s, did you mean %s?", name, length);
}

bool cli_model_config(Config *config, const char *path, char **overrides, int n_overrides, GError **error)
{
    const char *at = strrchr(path, '@');
    g_autofree char *dir =
        at && !g_file_test(path, G_FILE_TEST_EXISTS) ? g_strndup(path, (size_t)(at - path)) : g_strdup(path);
    g_autofree char *saved = g_build_filename(dir, "config.yaml", NULL), *init = g_strconcat("train.init=", path, NULL);
    for (int i = 0; i < n_overrides; i++) {
        if (!check_length(overrides[i], error))
            return false;
        if ((g_str_has_prefix(overrides[i], "model.") && !g_str_has_prefix(overrides[i], "model.labels=")) ||
            g_str_has_prefix(overrides[i], "lora."))
            return fail_user(error,
                             "%s: the model is what %s holds; leave model.* and lora.* options out (model.labels alone "
                             "gives its classes other names)",
                             overrides[i], path);
    }
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    g_ptr_array_add(all, (gpointer) "train.best=loss"); /* train.best of the run may be a score of another task */
    if (!io_exists(dir, "config.yaml") && (hf_is_folder(dir) || io_exists(dir, "state.json")))
        g_ptr_array_add(all, init);
    for (int i = 0; i < n_overrides; i++)
        g_ptr_array_add(all, overrides[i]);
    if (!io_exists(dir, "config.yaml"))
        return config_load(config, NULL, (char **)all->pdata, (int)all->len, error);
    if (!config_load(config, saved, (char **)all->pdata, (int)all->len, error))
        return false;
    config_fit_task(config, overrides, n_overrides);
    use_copy(config, dir, overrides, n_overrides);
    return true;
}
