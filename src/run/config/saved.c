/* saved.c: saves the configuration in a run directory, and compares the configuration of a resumed run with the saved
 * one and with the record of its newest checkpoint (recorded.c), and a saved one with the defaults. */
#include "base/file.h"
#include "base/log.h"
#include "data/data_config.h"
#include "run/config/layers.h"
#include "run/run_dir.h"

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

/* Fails if PATH is RUN@best or RUN@12000, as verbs that open a model take it. */
static bool check_no_checkpoint(const char *path, GError **error)
{
    const char *at = strrchr(path, '@');
    g_autofree char *before = at ? g_strndup(path, (gsize)(at - path)) : NULL, *run = before ? run_of(before) : NULL;
    return run == NULL || g_file_test(path, G_FILE_TEST_EXISTS) ||
           fail_user(error, "%s names a checkpoint; wanted is a configuration file or a run: %s", path, before);
}

bool config_load_run(Config *config, const char *path, char **overrides, int n_overrides, GError **error)
{
    g_autofree char *dir = run_of(path);
    if (dir == NULL && g_file_test(path, G_FILE_TEST_IS_DIR))
        return (run_find(path, error), false);
    if (dir == NULL && strchr(path, '=') && !g_file_test(path, G_FILE_TEST_EXISTS))
        return fail_user(error, "CONFIG.yaml or RUN comes first, options such as %s after it", path);
    if (dir == NULL)
        return check_no_checkpoint(path, error) && config_load(config, path, overrides, n_overrides, error);
    g_autofree char *file = g_build_filename(dir, "config.yaml", NULL), *own = tokenizer_find(dir, NULL, NULL);
    g_autoptr(GPtrArray) settings = g_ptr_array_new_with_free_func(g_free);
    if (io_refused(file, error))
        return false;
    g_ptr_array_add(settings, g_strconcat("run.dir=", dir, NULL));
    if (own && !config_is_given(overrides, n_overrides, "tokenizer.path"))
        g_ptr_array_add(settings, g_strconcat("tokenizer.path=", own, NULL));
    for (int i = 0; i < n_overrides; i++)
        g_ptr_array_add(settings, g_strdup(overrides[i]));
    return config_load(config, file, (char **)settings->pdata, (int)settings->len, error);
}

/* ---- comparison with the saved configuration ---- */

/* Whether two lists of datasets differ only in their paths. The datasets' contents are compared when they are open. */
static bool same_sources(const char *a, const char *b)
{
    g_autofree char *x = config_shape_of_sources(a), *y = config_shape_of_sources(b);
    return strcmp(x, y) == 0;
}

/* The options of class IDENTITY, then those of OPT_LOGGED, that differ from those of the run's last start: a list of
 * changes, empty if there is no RUN/config.yaml. NULL on an error. */
static GPtrArray *file_changes(const Config *config, GError **error)
{
    const OptionTable *table = config_options();
    g_autofree char *path = config_of_last_start(config->run.dir);
    g_autoptr(GPtrArray) changes = config_changes_new();
    g_auto(Config) saved = { 0 };
    if (!run_has_config(config->run.dir))
        return g_steal_pointer(&changes);
    if (!config_load(&saved, path, NULL, 0, error))
        return NULL;
    Config was = resolved(&saved), is = resolved(config);
    static const unsigned classes[] = { OPT_IDENTITY, OPT_LOGGED };
    for (size_t c = 0; c < G_N_ELEMENTS(classes); c++) {
        g_autoptr(GPtrArray) rows = options_differences(table, &was, &is, classes[c]);
        for (guint i = 0; i < rows->len; i++) {
            const OptionRow *row = rows->pdata[i];
            config_changes_add(changes, row, options_value(table, &was, row), options_value(table, &is, row));
            ConfigChange *change = changes->pdata[changes->len - 1];
            change->moved = strcmp(row->name, "data.train") == 0 && same_sources(was.data.train, is.data.train);
        }
    }
    clear_resolved(&was);
    clear_resolved(&is);
    return g_steal_pointer(&changes);
}

static const char *shown(const char *value)
{
    return *value ? value : "(none)";
}

/* Refuses a change of class IDENTITY, except of data.train to the same datasets by other paths; logs every other change
 * that was not logged before, and appends it to `changes`. whose: the run or its checkpoint. */
static bool note_changes(const GPtrArray *all, const char *whose, GPtrArray *changes, GError **error)
{
    for (guint i = 0; i < all->len; i++) {
        const ConfigChange *change = all->pdata[i];
        const char *name = change->row->name, *was = shown(change->was), *is = shown(change->is);
        g_autofree char *text = g_strdup_printf("%s changed from %s to %s", name, was, is);
        if (change->row->class == OPT_IDENTITY && !change->moved)
            return fail_user(
                error, "%s is a run with %s: %s, this configuration has %s; choose another run.dir, or set it back",
                whose, name, was, is);
        if (g_ptr_array_find_with_equal_func(changes, text, g_str_equal, NULL))
            continue;
        log_info("%s", text);
        g_ptr_array_add(changes, g_steal_pointer(&text));
    }
    return true;
}

/* The changes from the record of the newest checkpoint; an empty list if there is none. */
static GPtrArray *checkpoint_changes(const Config *config, const RunRecord *record, const char *whose, GError **error)
{
    return record->folder ? config_record_changes(config, record->options, whose, error) : config_changes_new();
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

/* optim.on_change=keep restores the former value of each schedule option and logs this; refuse makes it an error. */
static bool settle_changes(Config *config, const GPtrArray *all, GError **error)
{
    g_autoptr(GPtrArray) settings = option_settings_new();
    for (int s = 0; schedule_options[s]; s++)
        for (guint i = 0; i < all->len; i++) {
            const ConfigChange *change = all->pdata[i];
            const char *name = change->row->name, *was = shown(change->was), *is = shown(change->is);
            if (strcmp(name, schedule_options[s]) != 0)
                continue;
            if (config->optim.on_change == CHANGE_REFUSE)
                return fail_user(error,
                                 "%s is a run with %s: %s, this configuration has %s, and optim.on_change is refuse; "
                                 "set it back, or choose override or keep",
                                 config->run.dir, name, was, is);
            log_info("%s stays %s, not %s (optim.on_change=keep)", name, was, is);
            option_settings_add(settings, name, was, "the run's configuration");
        }
    return options_apply(config_options(), config, settings, error);
}

bool config_settle_schedule(Config *config, const RunRecord *record, GError **error)
{
    if (config->optim.on_change == CHANGE_OVERRIDE)
        return true;
    g_autoptr(GPtrArray) file = file_changes(config, error);
    if (file == NULL || !settle_changes(config, file, error))
        return false;
    g_autoptr(GPtrArray) recorded = checkpoint_changes(config, record, record->folder, error);
    return recorded && settle_changes(config, recorded, error);
}

bool config_check_run(const Config *config, const RunRecord *record, GPtrArray *changes, GError **error)
{
    g_autofree char *dir = sources_resolve_path(config->run.dir),
                    *whose = record->folder
                                 ? g_strdup_printf("%s of %s", strrchr(record->folder, '/') + 1, config->run.dir)
                                 : NULL;
    g_autoptr(GPtrArray) file = file_changes(config, error);
    if (file == NULL || !note_changes(file, dir, changes, error))
        return false;
    g_autoptr(GPtrArray) recorded = checkpoint_changes(config, record, whose, error);
    return recorded && note_changes(recorded, whose, changes, error);
}

/* ---- options that are not the defaults ---- */

/* The settings of a run without those that have a default in recipe.c; and what these would be. */
static bool load_defaults(Config *defaults, const GPtrArray *saved, GError **error)
{
    g_autoptr(GPtrArray) said = option_settings_new();
    options_set_defaults(config_options(), defaults);
    for (guint i = 0; i < saved->len; i++) {
        const OptionSetting *setting = saved->pdata[i];
        if (!g_strv_contains(recipe_options, setting->name) || strcmp(setting->name, "optim.name") == 0)
            option_settings_add(said, setting->name, setting->value ? setting->value : "", setting->origin);
    }
    return options_apply(config_options(), defaults, said, error) && recipe_apply(defaults, said, error);
}

static void compare_option(const OptionRow *row, const Config *config, const Config *defaults, GPtrArray *differences)
{
    const OptionTable *table = config_options();
    g_autofree char *value = options_plain_value(table, config, row),
                    *by_default = options_plain_value(table, defaults, row);
    if (strcmp(value, by_default) == 0 || strcmp(row->name, "run.dir") == 0)
        return;
    config_changes_add(differences, row, g_steal_pointer(&by_default), g_steal_pointer(&value));
}

GPtrArray *config_differences(const char *path, GError **error)
{
    const OptionTable *table = config_options();
    g_autoptr(GPtrArray) saved = option_settings_new();
    g_auto(Config) config = { 0 }, plain = { 0 }, recipe = { 0 };
    if (!layers_read_file(saved, path, error))
        return NULL;
    options_set_defaults(table, &config);
    options_set_defaults(table, &plain);
    if (!options_apply(table, &config, saved, error) || !load_defaults(&recipe, saved, error))
        return NULL;
    plain.model.architecture = (int)model_config_nearest_architecture(&config.model);
    if (config.model.architecture == ARCHITECTURE_AUTO) /* a run of an earlier version */
        config.model.architecture = plain.model.architecture;
    GPtrArray *differences = config_changes_new();
    const OptionRow *row;
    for (int i = 0; (row = options_at(table, i)); i++)
        compare_option(row, &config, g_strv_contains(recipe_options, row->name) ? &recipe : &plain, differences);
    return differences;
}

/* ---- saving ---- */

/* Copies the tokenizer into the run directory and removes a different one there. If tokenizer.path itself is a file in
 * the run directory beside a different tokenizer, it is an error: the user must move one away. */
static bool save_tokenizer(const Config *config, const Tokenizer *tok, GError **error)
{
    bool inside = io_lies_in(config->run.dir, tokenizer_path(tok));
    g_autofree char *path = tokenizer_find(config->run.dir, NULL, NULL),
                    *name = path ? g_path_get_basename(path) : NULL, *own = g_path_get_basename(tokenizer_path(tok));
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
    g_autofree char *path = g_build_filename(config->run.dir, "config.yaml", NULL),
                    *started = g_build_filename(config->run.dir, STARTED, NULL);
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
           io_write_file(started, yaml, strlen(yaml), error) && save_tokenizer(config, tok, error);
}

bool config_check_kept(const Config *config, const char *prefix, const char *advice, GError **error)
{
    g_autofree char *index = g_strconcat(prefix, ".idx", NULL);
    const bool held_out = g_str_has_suffix(prefix, "/task/train-valid");
    const bool named = strpbrk(prefix, ",:"); /* by the user: several sets, or one with a name */
    return !task_is_set(&config->task) || named || !(held_out || g_str_has_suffix(prefix, "/task/train")) ||
           g_file_test(index, G_FILE_TEST_EXISTS) ||
           fail_user(error, "%s, the %sexamples that the run kept, is gone; %s", prefix, held_out ? "held-out " : "",
                     advice);
}
