/* runs.c: finds runs for `loam collect` and reads their options and metrics. */
#include "base/log.h"
#include "cli/collect/collect.h"
#include "run/best.h"
#include "run/changes.h"
#include "run/checkpoint/checkpoint.h"
#include "run/config/config.h"
#include "run/run_dir.h"
#include "run/run_status.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

static void run_free(void *memory)
{
    CollectedRun *run = memory;
    g_free(run->dir);
    g_free(run->task);
    g_free(run->named);
    g_free(run->row);
    g_free(run->changes);
    g_clear_pointer(&run->settings, g_ptr_array_unref);
    run_result_clear(&run->result);
    g_free(run);
}

/* ---- options ---- */

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

/* ---- finding and reading ---- */

static const char *setting(const CollectedRun *run, const char *option)
{
    const char *value = option_settings_find(run->settings, option);
    return value ? value : "";
}

/* The name of the run's task: task.name ("rte"), or that of task.data ("reviews" for DIR/reviews.tsv.gz). */
static char *task_of(const CollectedRun *run)
{
    const char *name = setting(run, "task.name"), *data = setting(run, "task.data");
    if (*name || !*data)
        return g_strdup(name);
    char *base = g_path_get_basename(data);
    char *dot = strchr(base, '.');
    if (dot && dot > base)
        *dot = '\0';
    return base;
}

typedef struct Completion {
    GPtrArray *settings; /* the options of a run */
    const Config *defaults;
} Completion;

static void add_default(const OptionRow *row, G_GNUC_UNUSED const char *accepts, gpointer data)
{
    const Completion *completion = data;
    g_autofree char *value = options_plain_value(config_options(), completion->defaults, row);
    if (!option_settings_find(completion->settings, row->name))
        option_settings_add(completion->settings, row->name, value, "default");
}

/* Adds options that did not exist when the run was started, with their defaults; the architecture follows from the
 * run's other options. */
static void complete_settings(GPtrArray *settings)
{
    g_auto(Config) defaults = { 0 }, own = { 0 };
    g_autoptr(GError) ignored = NULL; /* an option of a later version */
    options_set_defaults(config_options(), &defaults);
    options_set_defaults(config_options(), &own);
    option_settings_rename(settings, config_options());
    options_apply(config_options(), &own, settings, &ignored);
    defaults.model.architecture = (int)model_config_architecture(&own.model);
    options_each(config_options(), add_default, &(Completion){ settings, &defaults });
}

RunSources run_sources(const char *dir)
{
    TrainState state;
    g_autoptr(GArray) steps = run_checkpoints(dir);
    g_autofree char *folder = steps->len ? run_checkpoint_path(dir, g_array_index(steps, int64_t, 0)) : NULL;
    return folder && checkpoint_state(folder, &state, NULL) ? (RunSources){ state.data, state.init }
                                                            : (RunSources){ 0 };
}

/* Finds out which data the run was trained and evaluated on: two tables may have one name, and one table two paths. */
static void read_contents(CollectedRun *run)
{
    g_autofree char *copy = g_build_filename(run->dir, "task", "train-valid.jsonl", NULL);
    GMappedFile *examples = *run->task ? g_mapped_file_new(copy, false, NULL) : NULL;
    run->sources = run_sources(run->dir);
    if (*run->task == '\0' && run->result.held_out)
        run->evaluated_on = g_ascii_strtoull(run->result.held_out, NULL, 16);
    if (examples) {
        run->evaluated_on = XXH3_64bits(g_mapped_file_get_contents(examples), g_mapped_file_get_length(examples));
        g_mapped_file_unref(examples);
    }
}

/* Adds the run. One that cannot be read or has no evaluation is named in a warning and left out. */
static void read_run(GPtrArray *runs, GHashTable *tokenizers, const char *dir, const CollectOptions *options)
{
    g_autoptr(GError) problem = NULL;
    CollectedRun *run = g_new0(CollectedRun, 1);
    const int64_t lost = options->last ? -1 : run_lost_best(dir),
                  best = options->last || lost >= 0 ? -1 : run_linked(dir, "best");
    g_autofree char *other = NULL;
    run->dir = g_strdup(dir);
    run->settings = option_settings_new();
    if (!run_settings_read(run->settings, tokenizers, dir, &problem) ||
        !run_result_read(&run->result, dir, best, &problem)) {
        log_warning("%s is left out: %s", dir, problem->message);
        run_free(run);
    } else if (run->result.step < 0) {
        if ((other = run_result_other_set(&run->result)))
            log_warning("%s is left out: the evaluation of step %" PRId64 " is of %s", dir, run->result.led_step,
                        other);
        else if (best < 0)
            log_warning("%s has no evaluation yet and is left out", dir);
        else
            log_warning("%s is left out: its metrics.jsonl lacks the evaluation of its best checkpoint, step %" PRId64,
                        dir, best);
        run_free(run);
    } else {
        complete_settings(run->settings);
        run->task = task_of(run);
        read_contents(run);
        run->changes = run_changes_read(dir, run->settings);
        history_tell_replaced(dir, run->result.replaced);
        if (lost >= 0)
            log_warning("%s: its best checkpoint, step %" PRId64 ", is missing: its values are those of the last "
                        "evaluation, of step %" PRId64,
                        dir, lost, run->result.step);
        run->untrained = best == 0 && run->result.step == 0;
        g_ptr_array_add(runs, run);
    }
}

/* ---- rows ---- */

/* Whether an option is no part of a row's name: it may differ among runs of one row (such as the seed), or follows from
 * the run directory or the task. */
static bool says_nothing(const CollectedRun *run, const char *option)
{
    static const char *const never[] = { "run.dir", "run.seed", "train.threads", NULL };
    static const char *const of_task[] = { "data.train", "data.valid", NULL };
    return g_strv_contains(never, option) || (*run->task && g_strv_contains(of_task, option));
}

/* Gives runs of a task whose files have equal contents the path of the first, so that copies of a table share a row. */
static void unite_paths(const GPtrArray *runs, const char *option)
{
    const bool trains = strcmp(option, "task.data") == 0;
    /* task and hashes of its examples -> path; borrowed */
    g_autoptr(GHashTable) firsts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < runs->len; i++) {
        const CollectedRun *run = runs->pdata[i];
        const char *path = setting(run, option);
        const bool known = trains ? run->sources.data != 0 : run->evaluated_on != 0;
        if (!known || *path == '\0' || g_str_has_suffix(path, "%"))
            continue;
        g_autofree char *key =
            g_strdup_printf("%s\n%" PRIx64 "\n%" PRIx64, run->task, trains ? run->sources.data : 0, run->evaluated_on);
        const char *first = g_hash_table_lookup(firsts, key);
        if (first == NULL)
            g_hash_table_insert(firsts, g_steal_pointer(&key), (gpointer)(uintptr_t)path);
        else if (strcmp(first, path) != 0)
            option_settings_add(run->settings, option, first, "the first run of these examples");
    }
}

/* Appends its hash to a train.init that was another model for other runs: a run that went on between them, say. */
static void divide_inits(const GPtrArray *runs)
{
    g_autoptr(GHashTable) firsts =
        g_hash_table_new(g_str_hash, g_str_equal); /* train.init -> its first run; borrowed */
    g_autoptr(GHashTable) differ = g_hash_table_new(g_str_hash, g_str_equal); /* train.init; borrowed */
    for (guint i = 0; i < runs->len; i++) {
        CollectedRun *run = runs->pdata[i];
        const char *init = setting(run, "train.init");
        const CollectedRun *first = g_hash_table_lookup(firsts, init);
        if (run->sources.init != 0 && first == NULL)
            g_hash_table_insert(firsts, (gpointer)(uintptr_t)init, run);
        else if (run->sources.init != 0 && run->sources.init != first->sources.init)
            g_hash_table_add(differ, (gpointer)(uintptr_t)init);
    }
    for (guint i = 0; i < runs->len; i++) {
        const CollectedRun *run = runs->pdata[i];
        const char *init = setting(run, "train.init");
        if (run->sources.init == 0 || !g_hash_table_contains(differ, init))
            continue;
        g_autofree char *told = g_strdup_printf("%s:%08" PRIx32, init, (uint32_t)run->sources.init);
        option_settings_add(run->settings, "train.init", told, "the model that the run began with");
    }
}

/* Marks runs whose options are equal and whose data are not, such as those of a table that was edited between them. */
static void tell_contents(const GPtrArray *runs)
{
    g_autoptr(GHashTable) firsts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL); /* to CollectedRun */
    g_autoptr(GHashTable) differ = g_hash_table_new(g_direct_hash, g_direct_equal); /* the first runs of such rows */
    g_autofree const CollectedRun **first = g_new0(const CollectedRun *, runs->len);
    for (guint i = 0; i < runs->len; i++) {
        CollectedRun *run = runs->pdata[i];
        g_autofree char *key = g_strdup_printf("%s\n%s", run->task, run->named);
        if (run->sources.data == 0)
            continue;
        first[i] = g_hash_table_lookup(firsts, key);
        if (first[i] == NULL)
            g_hash_table_insert(firsts, g_steal_pointer(&key), run);
        first[i] = first[i] ? first[i] : run;
        const bool both_known = first[i]->evaluated_on && run->evaluated_on; /* not so of earlier versions' runs */
        if (first[i]->sources.data != run->sources.data || (both_known && first[i]->evaluated_on != run->evaluated_on))
            g_hash_table_add(differ, (gpointer)(uintptr_t)first[i]);
    }
    for (guint i = 0; i < runs->len; i++) {
        CollectedRun *run = runs->pdata[i];
        const uint64_t both[] = { (uint64_t)run->sources.data, run->evaluated_on };
        if (first[i] == NULL || !g_hash_table_contains(differ, first[i]))
            continue;
        char *told = g_strdup_printf("%s  data:%08" PRIx32, run->named, (uint32_t)XXH3_64bits(both, sizeof both));
        g_free(run->named);
        run->named = told;
    }
}

/* Among which runs with the same train.init an option is compared: those of a task if it is an option of the task, of
 * its data or of its head, or decides nothing that is learnt; those of an objective if its default follows from that;
 * otherwise all. */
static const char *compared_among(const CollectedRun *run, const char *option)
{
    static const char *const of_task[] = { "model.classifier",       "model.labels",         "model.sentence_head",
                                           "model.head_bias",        "model.head_transform", "model.pooler",
                                           "model.classifier_dense", "train.class_weights",  NULL };
    static const char *const of_objective[] = { "model.tie_embeddings", "train.batch", "train.length", NULL };
    if (g_strv_contains(of_objective, option))
        return setting(run, "data.objective");
    const bool own = g_str_has_prefix(option, "task.") || g_str_has_prefix(option, "data.") ||
                     g_strv_contains(of_task, option) || !config_is_learning(option);
    return own && strcmp(option, "train.init") != 0 ? run->task : "";
}

/* Whether an option distinguishes rows: two runs with the same train.init that are compared differ in it. If it differs
 * only between values of train.init, as the width of a model does, then train.init is what distinguishes the rows. */
static bool tells_rows(const GPtrArray *runs, const char *option)
{
    const bool is_init = strcmp(option, "train.init") == 0;
    /* group of runs (see compared_among, and train.init) -> value of the option */
    g_autoptr(GHashTable) firsts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < runs->len; i++) {
        const CollectedRun *run = runs->pdata[i];
        g_autofree char *group =
            g_strdup_printf("%s\n%s", compared_among(run, option), is_init ? "" : setting(run, "train.init"));
        const char *value = setting(run, option), *first = g_hash_table_lookup(firsts, group);
        if (first && strcmp(first, value) != 0)
            return true;
        if (!first)
            g_hash_table_insert(firsts, g_steal_pointer(&group), (gpointer)(uintptr_t)value);
    }
    return false;
}

/* Names of the options that distinguish rows, in the order of the configuration files; borrowed. */
static GPtrArray *row_options(const GPtrArray *runs)
{
    GPtrArray *names = g_ptr_array_new();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < runs->len; i++) {
        const CollectedRun *run = runs->pdata[i];
        for (guint j = 0; j < run->settings->len; j++) {
            const OptionSetting *one = run->settings->pdata[j];
            if (g_hash_table_add(seen, one->name) && !says_nothing(run, one->name) && tells_rows(runs, one->name))
                g_ptr_array_add(names, one->name);
        }
    }
    return names;
}

/* "optim.lr=0.0001 train.batch=16 samples". */
static char *name_by_options(const CollectedRun *run, const GPtrArray *options)
{
    GString *text = g_string_new(options->len == 0 ? "all runs" : "");
    for (guint i = 0; i < options->len; i++)
        g_string_append_printf(text, "%s%s=%s", i ? "  " : "", (char *)options->pdata[i],
                               setting(run, options->pdata[i]));
    return g_string_free(text, false);
}

/* The folder of the run, or its parent folder if the run's folder is called seed-N. */
static char *name_by_path(const CollectedRun *run)
{
    g_autofree char *base = g_path_get_basename(run->dir);
    return g_str_has_prefix(base, "seed-") ? g_path_get_dirname(run->dir) : g_strdup(run->dir);
}

/* Finds out which runs failed, and warns of those that have not ended, which are compared by fewer steps. */
static void read_states(const GPtrArray *runs)
{
    const char *example = NULL;
    int n = 0;
    for (guint i = 0; i < runs->len; i++) {
        CollectedRun *run = runs->pdata[i];
        g_auto(RunStatus) status = { 0 };
        run_status_read(&status, run->dir, RUN_SILENT_S, RUN_STALLED_S);
        run->failed = status.state == RUN_FAILED;
        if (status.state != RUN_ENDED && status.state != RUN_UNKNOWN && !run->failed) {
            n++;
            example = run->dir;
        }
    }
    if (n > 0)
        log_warning("%d of %u runs have not ended (such as %s): their scores are those so far", n, runs->len, example);
}

/* Warns of runs that were not trained with their options from the start. */
static void warn_of_changes(const GPtrArray *runs)
{
    const CollectedRun *example = NULL;
    int n = 0;
    for (guint i = 0; i < runs->len; i++) {
        const CollectedRun *run = runs->pdata[i];
        n += run->changes != NULL;
        example = run->changes && !example ? run : example;
    }
    if (n > 0)
        log_warning("%d of %u runs had options changed on the way (%s%s: %s): they are listed by their last ones", n,
                    runs->len, n > 1 ? "such as " : "", example->dir, example->changes);
}

/* Warns of a row whose runs would have several rows by their options: its mean is that of none of them. */
static void warn_of_mixed_rows(const GPtrArray *runs)
{
    g_autoptr(GHashTable) firsts = g_hash_table_new(g_str_hash, g_str_equal); /* row -> its first CollectedRun */
    g_autoptr(GHashTable) told = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < runs->len; i++) {
        CollectedRun *run = runs->pdata[i];
        const CollectedRun *first = g_hash_table_lookup(firsts, run->row);
        if (first == NULL)
            g_hash_table_insert(firsts, run->row, run);
        else if (strcmp(first->task, run->task) == 0 && strcmp(first->named, run->named) != 0 &&
                 g_hash_table_add(told, run->row))
            log_warning("the row %s holds runs of other options or data: %s with %s, and %s with %s", run->row,
                        first->dir, first->named, run->dir, run->named);
    }
}

/* Warns of runs of one row that have the same task and seed, such as a copy of a run: they are not independent, and
 * make the deviation of the row too small. */
static void warn_of_equal_seeds(const GPtrArray *runs)
{
    g_autoptr(GHashTable) firsts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL); /* to CollectedRun */
    const CollectedRun *example[2] = { NULL, NULL };
    int n = 0;
    for (guint i = 0; i < runs->len; i++) {
        CollectedRun *run = runs->pdata[i];
        g_autofree char *key =
            g_strdup_printf("%s\n%s\n%s\n%s", run->row, run->named, run->task, setting(run, "run.seed"));
        const CollectedRun *first = g_hash_table_lookup(firsts, key);
        if (first == NULL) {
            g_hash_table_insert(firsts, g_steal_pointer(&key), run);
        } else if (n++ == 0) {
            example[0] = first;
            example[1] = run;
        }
    }
    if (n > 0)
        log_warning("%d of %u runs have the options and the seed of another one (%s and %s have run.seed=%s): they are "
                    "no independent runs, and make deviations too small",
                    n, runs->len, example[0]->dir, example[1]->dir, setting(example[0], "run.seed"));
}

GPtrArray *collected_runs(char *const *paths, int n, const CollectOptions *options, GError **error)
{
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func(run_free);
    g_autoptr(GPtrArray) dirs = g_ptr_array_new_with_free_func(g_free),
                         remnants = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) tokenizers = run_settings_tokenizers();
    for (int i = 0; i < n; i++)
        run_find_below(dirs, remnants, paths[i]);
    run_keep_once(dirs);
    run_keep_once(remnants);
    run_warn_of_remnants(remnants);
    for (guint i = 0; i < dirs->len; i++)
        read_run(runs, tokenizers, dirs->pdata[i], options);
    if (runs->len == 0)
        return fail_user(error, "no run with an evaluation in %s%s", n > 0 ? paths[0] : "",
                         n > 1 ? " and the others" : "");
    read_states(runs);
    unite_paths(runs, "task.data");
    unite_paths(runs, "task.valid");
    divide_inits(runs);
    g_autoptr(GPtrArray) names = row_options(runs);
    for (guint i = 0; i < runs->len; i++)
        ((CollectedRun *)runs->pdata[i])->named = name_by_options(runs->pdata[i], names);
    tell_contents(runs);
    for (guint i = 0; i < runs->len; i++) {
        CollectedRun *run = runs->pdata[i];
        run->former = options->former && g_strv_contains(options->former, run->dir);
        run->row = options->by_path ? name_by_path(run) : g_strdup(run->named);
    }
    warn_of_mixed_rows(runs);
    warn_of_equal_seeds(runs);
    warn_of_changes(runs);
    return g_steal_pointer(&runs);
}
