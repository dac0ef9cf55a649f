/* saved.c: saves the configuration in a run directory, and compares the configuration of a resumed run with the saved
 * one and with the record of its newest checkpoint (recorded.c). */
#include "base/file.h"
#include "base/log.h"
#include "data/sources.h"
#include "run/config/config.h"
#include "run/run_dir.h"
#include "text/tokenizer.h"

#include <string.h>

/* ---- paths ---- */

/* A shallow copy of the configuration with absolute paths. It owns only these paths; clear_resolved frees them. */
static Config resolved(const Config *config)
{
    Config copy = *config;
    const char *tok = config->tokenizer.path, *init = config->train.init;
    bool is_file = *tok && (strcmp(tok, "bytes") != 0 || g_file_test(tok, G_FILE_TEST_EXISTS));
    copy.run.dir = *config->run.dir ? sources_resolve_path(config->run.dir) : g_strdup("");
    copy.tokenizer.path = is_file ? sources_resolve_path(tok) : g_strdup(tok);
    copy.train.init = *init ? sources_resolve_path(init) : g_strdup("");
    copy.log.mlflow = *config->log.mlflow ? sources_resolve_path(config->log.mlflow) : g_strdup("");
    copy.train.stop_file = *config->train.stop_file ? sources_resolve_path(config->train.stop_file) : g_strdup("");
    copy.data.train = sources_resolve(config->data.train, false);
    copy.data.valid = sources_resolve(config->data.valid, true);
    copy.task.data = sources_resolve_files(config->task.data);
    copy.task.valid = sources_resolve_files(config->task.valid);
    return copy;
}

static void clear_resolved(Config *copy)
{
    char *paths[] = { copy->run.dir,   copy->tokenizer.path, copy->train.init, copy->data.train,     copy->data.valid,
                      copy->task.data, copy->task.valid,     copy->log.mlflow, copy->train.stop_file };
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
        g_free(paths[i]);
}

static bool is_given(char **overrides, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (g_str_has_prefix(overrides[i], name) && overrides[i][strlen(name)] == '=')
            return true;
    return false;
}

bool config_load_run(Config *config, const char *path, char **overrides, int n_overrides, GError **error)
{
    g_autofree char *dir = run_of(path);
    if (dir == NULL && g_file_test(path, G_FILE_TEST_IS_DIR))
        return (run_find(path, error), false);
    if (dir == NULL && strchr(path, '=') && !g_file_test(path, G_FILE_TEST_EXISTS))
        return fail_user(error, "CONFIG.yaml or RUN comes first, options such as %s after it", path);
    if (dir == NULL)
        return config_load(config, path, overrides, n_overrides, error);
    g_autofree char *file = g_build_filename(dir, "config.yaml", NULL), *own = tokenizer_find(dir, NULL);
    g_autoptr(GPtrArray) settings = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(settings, g_strconcat("run.dir=", dir, NULL));
    if (own && !is_given(overrides, n_overrides, "tokenizer.path"))
        g_ptr_array_add(settings, g_strconcat("tokenizer.path=", own, NULL));
    for (int i = 0; i < n_overrides; i++)
        g_ptr_array_add(settings, g_strdup(overrides[i]));
    return config_load(config, file, (char **)settings->pdata, (int)settings->len, error);
}

/* ---- comparison with the saved configuration ---- */

static char *shown(const Config *config, const OptionRow *row)
{
    g_autofree char *value = options_value(config_options(), config, row);
    return *value ? g_steal_pointer(&value) : g_strdup("(none)");
}

/* Whether two lists of datasets differ only in their paths. The datasets' contents are compared when they are open. */
static bool same_sources(const char *a, const char *b)
{
    g_autofree char *x = config_shape_of_sources(a), *y = config_shape_of_sources(b);
    return strcmp(x, y) == 0;
}

/* Logs a change, unless it was logged before. */
static void note_change(const OptionRow *row, const char *was, const char *is, GPtrArray *changes)
{
    g_autofree char *change = g_strdup_printf("%s changed from %s to %s", row->name, was, is);
    if (g_ptr_array_find_with_equal_func(changes, change, g_str_equal, NULL))
        return;
    log_info("%s", change);
    g_ptr_array_add(changes, g_steal_pointer(&change));
}

static bool refuse_change(const char *whose, const OptionRow *row, const char *was, const char *is, GError **error)
{
    return fail_user(error,
                     "%s is a run with %s: %s, this configuration has %s; choose another run.dir, or set it back",
                     whose, row->name, was, is);
}

static bool compare_config(const Config *saved, const Config *config, GPtrArray *changes, GError **error)
{
    static const OptionClass classes[] = { OPT_IDENTITY, OPT_TUNABLE };
    for (size_t c = 0; c < G_N_ELEMENTS(classes); c++) {
        g_autoptr(GPtrArray) rows = options_differences(config_options(), saved, config, classes[c]);
        for (guint i = 0; i < rows->len; i++) {
            const OptionRow *row = rows->pdata[i];
            const bool moved =
                strcmp(row->name, "data.train") == 0 && same_sources(saved->data.train, config->data.train);
            g_autofree char *was = shown(saved, row), *is = shown(config, row);
            if (classes[c] == OPT_IDENTITY && !moved)
                return refuse_change(config->run.dir, row, was, is, error);
            note_change(row, was, is, changes);
        }
    }
    return true;
}

static bool compare_record(const RunRecord *record, const Config *config, GPtrArray *changes, GError **error)
{
    if (record->folder == NULL)
        return true;
    g_autofree char *whose = g_strdup_printf("%s of %s", strrchr(record->folder, '/') + 1, config->run.dir);
    g_autoptr(GPtrArray) all = config_record_changes(config, record->options, whose, error);
    for (guint i = 0; all && i < all->len; i++) {
        const ConfigChange *change = all->pdata[i];
        if (change->row->class == OPT_IDENTITY)
            return refuse_change(whose, change->row, change->was, change->is, error);
        note_change(change->row, change->was, change->is, changes);
    }
    return all != NULL;
}

/* The options that optim.on_change protects against changes when a run is resumed. */
/* clang-format off */
static const char *const schedule_options[] = {
    "optim.lr", "optim.min_lr", "optim.init_lr", "optim.schedule", "optim.warmup", "optim.decay_until",
    "optim.decay_length", "optim.decay_curve", "optim.cycle", "optim.cycle_growth", "optim.cycle_shrink",
    "optim.power", "optim.weight_decay", "optim.weight_decay_ramp", "optim.weight_decay_start",
    "optim.plateau_factor", "optim.plateau_patience", "optim.muon_scale", "optim.matrix_lr", NULL,
};
/* clang-format on */

/* An option that differs from its saved value: optim.on_change=keep restores the saved value and logs this; refuse
 * makes it an error. */
static bool settle_option(Config *config, const OptionRow *row, const char *was, const char *is, GError **error)
{
    if (config->optim.on_change == CHANGE_REFUSE)
        return fail_user(error,
                         "%s is a run with %s: %s, this configuration has %s, and optim.on_change is refuse; set it "
                         "back, or choose override or keep",
                         config->run.dir, row->name, was, is);
    log_info("%s stays %s, not %s (optim.on_change=keep)", row->name, was, is);
    g_autoptr(GPtrArray) settings = option_settings_new();
    option_settings_add(settings, row->name, was, "the run's configuration");
    return options_apply(config_options(), config, settings, error);
}

static bool settle_by_config(Config *config, GError **error)
{
    g_autofree char *path = g_build_filename(config->run.dir, "config.yaml", NULL);
    g_auto(Config) saved = { 0 };
    if (!run_has_config(config->run.dir))
        return true;
    bool settled = config_load(&saved, path, NULL, 0, error);
    for (size_t i = 0; settled && schedule_options[i]; i++) {
        const OptionRow *row = options_find(config_options(), schedule_options[i]);
        g_autofree char *was = shown(&saved, row), *is = shown(config, row);
        settled = strcmp(was, is) == 0 || settle_option(config, row, was, is, error);
    }
    return settled;
}

static bool settle_by_record(Config *config, const RunRecord *record, GError **error)
{
    g_autoptr(GPtrArray) all = config_record_changes(config, record->options, record->folder, error);
    for (guint i = 0; all && i < all->len; i++) {
        const ConfigChange *change = all->pdata[i];
        if (g_strv_contains(schedule_options, change->row->name) &&
            !settle_option(config, change->row, change->was, change->is, error))
            return false;
    }
    return all != NULL;
}

bool config_settle_schedule(Config *config, const RunRecord *record, GError **error)
{
    if (config->optim.on_change == CHANGE_OVERRIDE)
        return true;
    return settle_by_config(config, error) && (record->folder == NULL || settle_by_record(config, record, error));
}

bool config_saved_micro_batch(const Config *config, Amount *micro, GError **error)
{
    static const char name[] = "train.micro_batch";
    g_autofree char *path = g_build_filename(config->run.dir, "config.yaml", NULL);
    g_autoptr(GPtrArray) all = option_settings_new(), own = option_settings_new();
    g_auto(Config) saved = { 0 };
    *micro = (Amount){ .unit = UNIT_SAMPLES };
    if (*config->run.dir == '\0' || !run_has_config(config->run.dir))
        return true;
    options_set_defaults(config_options(), &saved);
    if (!option_settings_read_yaml(all, path, error))
        return false;
    const char *value = option_settings_find(all, name);
    if (value)
        option_settings_add(own, name, value, path);
    const bool read = options_apply(config_options(), &saved, own, error);
    *micro = saved.train.micro_batch;
    return read;
}

bool config_check_run(const Config *config, const RunRecord *record, GPtrArray *changes, GError **error)
{
    g_autofree char *path = g_build_filename(config->run.dir, "config.yaml", NULL);
    if (!run_has_config(config->run.dir))
        return compare_record(record, config, changes, error);
    g_auto(Config) saved = { 0 };
    if (!config_load(&saved, path, NULL, 0, error))
        return false;
    Config was = resolved(&saved), is = resolved(config);
    bool same = compare_config(&was, &is, changes, error);
    clear_resolved(&was);
    clear_resolved(&is);
    return same && compare_record(record, config, changes, error);
}

/* ---- saving ---- */

/* Copies the tokenizer into the run directory and removes a different tokenizer that lies there. If tokenizer.path
 * itself is a file in the run directory beside a different tokenizer, it is an error: the user must move one of them
 * away. */
static bool save_tokenizer(const Config *config, const Tokenizer *tok, GError **error)
{
    bool inside = io_lies_in(config->run.dir, tokenizer_path(tok));
    g_autofree char *path = tokenizer_find(config->run.dir, NULL), *name = path ? g_path_get_basename(path) : NULL,
                    *own = g_path_get_basename(tokenizer_path(tok));
    if (inside && g_strcmp0(name, own) == 0)
        return true;
    g_autoptr(Tokenizer) saved = path ? tokenizer_open(path, NULL) : NULL;
    bool same = saved && strcmp(tokenizer_hash(saved), tokenizer_hash(tok)) == 0 &&
                tokenizer_size(saved) - tokenizer_appended(saved) == tokenizer_size(tok) - tokenizer_appended(tok);
    if (inside && path && !same)
        return fail_user(error, "run.dir has two different tokenizers, %s and tokenizer.path %s: move one of them away",
                         path, tokenizer_path(tok));
    return same ||
           ((inside || tokenizer_remove(config->run.dir, error)) && tokenizer_copy(tok, config->run.dir, error));
}

bool config_save_run(const Config *config, const Tokenizer *tok, GError **error)
{
    g_autofree char *path = g_build_filename(config->run.dir, "config.yaml", NULL);
    g_autofree char *checkpoints = g_build_filename(config->run.dir, "checkpoints", NULL);
    Config whole = resolved(config);
    g_autofree char *yaml = options_to_yaml(config_options(), &whole);
    clear_resolved(&whole);
    if (!g_utf8_validate(yaml, -1, NULL))
        return fail_user(error,
                         "a path of the configuration is not UTF-8, and %s could not be read again: give it from "
                         "the folder it lies in, or rename it",
                         path);
    return io_make_directories(checkpoints, error) && io_write_file(path, yaml, strlen(yaml), error) &&
           save_tokenizer(config, tok, error);
}
