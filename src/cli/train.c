/* train.c: `loam train`: starts or resumes a run, or several. */
#include "train/train.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/collect/collect.h"
#include "comm/launch.h"
#include "run/launch.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <string.h>

#define USAGE                                                                                                          \
    "loam train CONFIG.yaml|RUN [--trace FILE] [--rehearse] [--seeds N] [--sweep OPTION=VALUE,VALUE…]… "           \
    "[group.key=value]…"

static const char about[] =
    "Trains a model until train.length, or continues the run in run.dir. Press Ctrl-C (or send SIGTERM, SIGUSR1,\n"
    "SIGUSR2, SIGXCPU or SIGHUP) to save a checkpoint and stop; the same command then continues the run, and so does\n"
    "`loam train RUN` with the run directory. --seeds and --sweep train one run per seed and per combination of "
    "values, each in a "
    "folder\n"
    "below run.dir, and print a table of their scores; the same command continues with unfinished runs.\n"
    "`loam help --options` lists every option.\n"
    "\n"
    "  loam train config.yaml run.dir=runs/a optim.lr=1e-3\n"
    "  loam train runs/a\n"
    "  loam train config.yaml run.dir=runs/grid --seeds 5 --sweep optim.lr=1e-4,3e-4\n";

static gboolean rehearse;
static char *trace, *seeds, **sweeps;
static const GOptionEntry entries[] = {
    CLI_PATH("trace", trace, "FILE", "write a trace of the second step, for ui.perfetto.dev or chrome://tracing"),
    CLI_SWITCH(
        "rehearse", rehearse,
        "train a small version of the model for 20 steps in RUN-rehearsal, with the same layout, data and optimizer"),
    CLI_VALUE("seeds", seeds, "N", "train one run per seed, 1 to N, or per seed of a list: 7,8,9"),
    CLI_VALUE("sweep", sweeps, "OPTION=VALUE,VALUE…",
              "train one run per value of an option; with several --sweep, one per combination; separate values that "
              "contain commas by |"),
    { 0 },
};

enum { BLOCKS = 8, KV_HEADS = 4, TOKENS = 64, BATCH = 32, COMPAT_SAMPLES = 4096 };

/* The same in every rehearsal: small sizes, to try a layout, data, optimizer, saves and hooks. */
static const char sizes[] =
    "model.width=128; model.heads=8; model.head_dim=16; model.ffn=256; train.length=20 steps; train.batch_rampup=; "
    "train.batch_schedule=; train.stop_at=0; train.micro_batch=1 samples; train.log_every=1 steps; "
    "train.eval_every=10 steps; train.eval_samples=16; train.save_every=10 steps; train.save_phases=; "
    "train.keep_every=0; optim.warmup=5 steps; optim.decay_until=0";

static void add_override(GPtrArray *overrides, const char *name, int64_t value, const char *unit)
{
    g_ptr_array_add(overrides, g_strdup_printf("%s=%" PRId64 "%s", name, value, unit));
}

/* The folder of a rehearsal: that of the run with "-rehearsal" after its name. dir: as it was given, perhaps "." or
 * with slashes at its end. g_free. */
static char *rehearsal_dir(const char *dir)
{
    g_autofree char *last = g_path_get_basename(dir), *plain = g_strdup(dir);
    for (size_t end = strlen(plain); end > 1 && plain[end - 1] == '/'; end--)
        plain[end - 1] = '\0';
    if (*dir == '\0')
        return g_strdup("");
    if (strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        g_free(plain);
        plain = g_canonicalize_filename(dir, NULL);
    }
    return g_strconcat(plain, "-rehearsal", NULL);
}

/* The overrides that make a rehearsal of the configuration of a file, followed by the n given ones; they do not depend
 * on the layout, so that a rehearsal can go on in another one. A NULL-terminated array; g_strfreev. */
static char **rehearsal_overrides(const Config *config, char **given, int n)
{
    g_auto(GStrv) small = g_strsplit(sizes, "; ", -1);
    GPtrArray *overrides = g_ptr_array_new();
    const ModelConfig *model = &config->model;
    for (char **size = small; *size; size++)
        g_ptr_array_add(overrides, g_strdup(*size));
    add_override(overrides, "model.n_enc", MIN(model->n_enc, BLOCKS), "");
    add_override(overrides, "model.n_dec", MIN(model->n_dec, BLOCKS), "");
    add_override(overrides, "model.kv_heads", model_config_kv_heads(model) < model->heads ? KV_HEADS : 0, "");
    add_override(overrides, "data.input_length", MIN(config->data.input_length, TOKENS), "");
    add_override(overrides, "train.batch", MIN(config_batch_samples(config), BATCH), " samples");
    if (config->data.compat == COMPAT_MEGATRON) /* its order of samples is made for so many */
        add_override(overrides, "data.compat_samples", COMPAT_SAMPLES, "");
    const char *dir = config->run.dir;
    for (int i = 0; i < n; i++) {
        g_ptr_array_add(overrides, g_strdup(given[i]));
        if (g_str_has_prefix(given[i], "run.dir="))
            dir = given[i] + strlen("run.dir=");
    }
    g_autofree char *folder = rehearsal_dir(dir);
    g_ptr_array_add(overrides, g_strconcat("run.dir=", folder, NULL));
    g_ptr_array_add(overrides, NULL);
    return (char **)g_ptr_array_free(overrides, false);
}

static bool load_rehearsal(Config *config, const char *path, char **given, int n, GError **error)
{
    g_auto(Config) whole = { 0 };
    if (!config_load_run(&whole, path, NULL, 0, error))
        return false;
    g_auto(GStrv) overrides = rehearsal_overrides(&whole, given, n);
    return config_load_run(config, path, overrides, (int)g_strv_length(overrides), error);
}

/* Says what a run begins with that takes the options of the run PATH into a folder of its own: not its weights. */
static void note_other_folder(const Config *config, const char *path, char **given, int n)
{
    g_autofree char *run = run_of(path), *there = run_of(config->run.dir);
    g_autofree char *init =
        *config->train.init ? g_strconcat("train.init=", config->train.init, NULL) : g_strdup("random weights");
    if (run && there == NULL && !config_is_given(given, n, "train.init"))
        log_warning("%s is a new run with the options of %s and starts from %s; to start from that run's weights, add "
                    "train.init=%s",
                    config->run.dir, path, init, path);
}

/* The switches that decide which runs the command trains, "--seeds 2 --sweep optim.lr=1e-4,3e-4". g_free. */
static char *describe_switches(void)
{
    GString *text = g_string_new(rehearse ? "--rehearse" : "");
    if (seeds)
        g_string_append_printf(text, "--seeds %s", seeds);
    for (char **sweep = sweeps; sweep && *sweep; sweep++)
        g_string_append_printf(text, "%s--sweep %s", text->len > 0 ? " " : "", *sweep);
    return g_string_free(text, false);
}

/* ---- several runs of one configuration, one after another ---- */

/* The configuration that --sweep and --seeds vary. */
typedef struct ManyRuns {
    const char *path; /* CONFIG.yaml */
    char **overrides; /* (n_overrides) group.key=value */
    int n_overrides;
} ManyRuns;

#define MOST_RUNS 10000

/* One run of a sweep: the settings that it adds to the overrides, and its folder within the folder of the sweep. */
typedef struct OneRun {
    GPtrArray *settings; /* char *, "optim.lr=1e-4" */
    GString *folder;
    char *ignored; /* a setting without effect, since the run had ended before (train_run); NULL means none */
} OneRun;

static OneRun *run_new(const OneRun *from)
{
    OneRun *run = g_new(OneRun, 1);
    *run = (OneRun){ .settings = g_ptr_array_new_with_free_func(g_free),
                     .folder = g_string_new(from ? from->folder->str : "") };
    for (guint i = 0; from && i < from->settings->len; i++)
        g_ptr_array_add(run->settings, g_strdup(from->settings->pdata[i]));
    return run;
}

static void run_free(void *memory)
{
    OneRun *run = memory;
    g_ptr_array_unref(run->settings);
    g_string_free(run->folder, true);
    g_free(run->ignored);
    g_free(run);
}

/* ---- which runs ---- */

/* Appends a setting, "optim.lr=1e-4", to a folder's name; special characters of paths and dataset lists become "_". */
static void append_name(GString *folder, const char *setting)
{
    if (folder->len > 0)
        g_string_append_c(folder, '+');
    for (const char *c = setting; *c; c++)
        g_string_append_c(folder, g_ascii_isalnum(*c) || strchr("._-=", *c) ? *c : '_');
}

/* The name of the option in "OPTION=VALUE,…". NULL with an error if unknown, or in another --sweep. g_free. */
static char *swept_option(const GPtrArray *runs, const char *sweep, GError **error)
{
    const char *equals = strchr(sweep, '=');
    g_autofree char *option = equals ? g_strndup(sweep, (gsize)(equals - sweep)) : NULL;
    const OneRun *first = runs->pdata[0];
    bool good = (option && equals[1]) ||
                fail_user(error, "--sweep %s: want OPTION=VALUE,VALUE…, such as optim.lr=1e-4,3e-4", sweep);
    good = good && (options_find(config_options(), option) ||
                    fail_user(error, "--sweep %s: there is no option %s", sweep, option));
    if (good && (strcmp(option, "run.dir") == 0 || strcmp(option, "run.seed") == 0))
        good = fail_user(error, "--sweep %s: each run has a folder of its own below run.dir, and --seeds gives seeds",
                         sweep);
    for (guint i = 0; good && i < first->settings->len; i++)
        if (strncmp(first->settings->pdata[i], sweep, strlen(option) + 1) == 0)
            good =
                fail_user(error, "--sweep %s: %s is in another --sweep: give all of its values in one", sweep, option);
    return good ? g_steal_pointer(&option) : NULL;
}

/* Replaces each run by several, one per value of the option; are_seeds: the values are seeds, which have
 * folders of their own. */
static void multiply_runs(GPtrArray **runs, const char *option, char *const *values, bool are_seeds)
{
    GPtrArray *more = g_ptr_array_new_with_free_func(run_free);
    for (guint i = 0; i < (*runs)->len; i++)
        for (char *const *value = values; *value; value++) {
            OneRun *run = run_new((*runs)->pdata[i]);
            char *setting = g_strdup_printf("%s=%s", option, g_strstrip(*value));
            if (are_seeds)
                g_string_append_printf(run->folder, "%sseed-%s", run->folder->len ? "/" : "", *value);
            else
                append_name(run->folder, setting);
            g_ptr_array_add(run->settings, setting);
            g_ptr_array_add(more, run);
        }
    g_ptr_array_unref(*runs);
    *runs = more;
}

static bool sweep_over(GPtrArray **runs, const char *sweep, GError **error)
{
    const char *equals = strchr(sweep, '=');
    g_autofree char *option = swept_option(*runs, sweep, error);
    if (option == NULL)
        return false;
    g_auto(GStrv) values = g_strsplit(equals + 1, strchr(equals + 1, '|') ? "|" : ",", -1);
    multiply_runs(runs, option, values, false);
    return (*runs)->len <= MOST_RUNS || fail_user(error, "--sweep: more than %d runs", MOST_RUNS);
}

/* Replaces each run by one per seed: 1 to N, or those of a list. */
static bool seed_all(GPtrArray **runs, const char *text, GError **error)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) parts = text_list(text);
    guint64 n = 0;
    bool good = g_strv_length(parts) > 0;
    for (char **part = parts; good && *part; part++) {
        good = g_ascii_string_to_unsigned(*part, 10, 0, G_MAXINT32, &n, NULL);
        g_ptr_array_add(all, g_strdup_printf("%" PRIu64, n));
    }
    if (!good || (all->len == 1 && (n < 1 || n > MOST_RUNS)))
        return fail_user(error, "--seeds is \"%s\", want a number of seeds, or a list of them: 5, or 7,8,9", text);
    if (all->len == 1) {
        g_ptr_array_set_size(all, 0);
        for (guint64 seed = 1; seed <= n; seed++)
            g_ptr_array_add(all, g_strdup_printf("%" PRIu64, seed));
    }
    g_ptr_array_add(all, NULL);
    multiply_runs(runs, "run.seed", (char *const *)all->pdata, true);
    return true;
}

static GPtrArray *plan_runs(GError **error)
{
    GPtrArray *runs = g_ptr_array_new_with_free_func(run_free);
    g_ptr_array_add(runs, run_new(NULL));
    bool good = true;
    for (char **sweep = sweeps; good && sweep && *sweep; sweep++)
        good = sweep_over(&runs, *sweep, error);
    good = good && (seeds == NULL || seed_all(&runs, seeds, error));
    if (!good)
        g_clear_pointer(&runs, g_ptr_array_unref);
    return runs;
}

/* ---- configurations ---- */

static char *folder_of(const char *dir, const OneRun *run)
{
    return g_build_filename(dir, run->folder->str, NULL);
}

static bool load_one_run(Config *config, const ManyRuns *many, const char *dir, const OneRun *run, GError **error)
{
    g_autoptr(GPtrArray) overrides = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < many->n_overrides; i++)
        g_ptr_array_add(overrides, g_strdup(many->overrides[i]));
    for (guint i = 0; i < run->settings->len; i++)
        g_ptr_array_add(overrides, g_strdup(run->settings->pdata[i]));
    g_autofree char *folder = folder_of(dir, run);
    g_ptr_array_add(overrides, g_strconcat("run.dir=", folder, NULL));
    return config_load(config, many->path, (char **)overrides->pdata, (int)overrides->len, error);
}

/* Loads the configuration. Returns its run.dir; g_free. */
static char *find_dir(const ManyRuns *many, Config *config, GError **error)
{
    g_autofree char *run = run_of(many->path);
    if (run || !g_file_test(many->path, G_FILE_TEST_IS_REGULAR))
        return fail_user(error, "%s: --seeds and --sweep take a configuration file, and make runs below its run.dir",
                         many->path);
    if (!config_load(config, many->path, many->overrides, many->n_overrides, error))
        return NULL;
    g_autofree char *taken = *config->run.dir ? run_of(config->run.dir) : NULL;
    if (*config->run.dir && taken == NULL)
        return g_strdup(config->run.dir);
    return fail_user(error,
                     taken ? "run.dir %s is a run; --seeds and --sweep make runs below it: choose another folder"
                           : "run.dir is not set%s: the folder of the runs, such as run.dir=runs/a",
                     taken ? taken : "");
}

/* The value of the option that a setting of a run sets, as the configuration has it: 1e-3 and 0.001 are the same.
 * *name: the option's. g_free both. */
static char *value_of(const Config *config, const char *setting, char **name)
{
    *name = g_strndup(setting, strcspn(setting, "="));
    return options_plain_value(config_options(), config, options_find(config_options(), *name));
}

/* The values of the options that --sweep and --seeds set for a run. g_free. */
static char *values_of(const Config *config, const OneRun *run)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < run->settings->len; i++) {
        g_autofree char *name = NULL, *value = value_of(config, run->settings->pdata[i], &name);
        g_string_append_printf(text, "%s%s=%s", i > 0 ? " " : "", name, value);
    }
    return g_string_free(text, false);
}

/* A folder without the values in its name: "optim.lr=/seed-1". g_free. */
static char *swept_names(const char *folder)
{
    GString *names = g_string_new(NULL);
    bool value = false;
    for (const char *c = folder; *c; c++) {
        value = value && *c != '+' && *c != '/';
        if (!value)
            g_string_append_c(names, *c);
        value = value || *c == '=';
    }
    return g_string_free(names, false);
}

/* Whether the run in a folder of the sweep sets the same options as this one, to the same values. */
static bool is_same(const char *dir, const char *folder, const Config *config, const OneRun *run)
{
    g_autoptr(GPtrArray) saved = option_settings_new();
    g_autofree char *names = swept_names(folder), *own = swept_names(run->folder->str),
                    *path = g_build_filename(dir, folder, "config.yaml", NULL);
    bool same = strcmp(names, own) == 0 && option_settings_read_yaml(saved, path, NULL);
    for (guint i = 0; same && i < run->settings->len; i++) {
        g_autofree char *name = NULL, *value = value_of(config, run->settings->pdata[i], &name);
        same = g_strcmp0(option_settings_find(saved, name), value) == 0;
    }
    return same;
}

/* Takes the folder of an earlier run with the same values, whose name may write them in another way: 1e-2 for 0.01. */
static void take_folder(const char *dir, const Config *config, OneRun *run)
{
    g_autofree char *own = folder_of(dir, run), *there = run_of(own);
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
    if (there == NULL)
        run_find_below(found, NULL, dir);
    for (guint i = 0; i < found->len; i++) {
        const char *folder = (const char *)found->pdata[i] + strlen(dir);
        folder += strspn(folder, "/");
        if (!is_same(dir, folder, config, run))
            continue;
        g_string_assign(run->folder, folder);
        return;
    }
}

static bool check_runs(const ManyRuns *many, const char *dir, const GPtrArray *runs, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL); /* to a folder */
    for (guint i = 0; i < runs->len; i++) {
        OneRun *run = runs->pdata[i];
        g_auto(Config) config = { 0 };
        if (!load_one_run(&config, many, dir, run, error))
            return fail_context(error, "%s", run->folder->str);
        take_folder(dir, &config, run);
        if (!g_hash_table_add(seen, run->folder->str))
            return fail_user(error,
                             "two runs would have the folder %s/%s: a value is there twice, or two are too much "
                             "alike",
                             dir, run->folder->str);
        g_autofree char *own = values_of(&config, run);
        const char *same = g_hash_table_lookup(values, own);
        if (same)
            return fail_user(error, "%s and %s would be the same run, %s: leave one of the values out", same,
                             run->folder->str, own);
        g_hash_table_insert(values, g_steal_pointer(&own), run->folder->str);
    }
    return true;
}

/* ---- training ---- */

/* Trains one run. If it fails with a user's error, the error is logged, and stored in *failed unless an earlier run
 * failed; any other error ends the whole sweep. */
static bool train_one(const ManyRuns *many, const char *dir, OneRun *run, GError **failed, GError **error)
{
    g_auto(Config) config = { 0 };
    g_autofree char *folder = folder_of(dir, run);
    GError *problem = NULL;
    if (load_one_run(&config, many, dir, run, &problem) && train_run(&config, NULL, &run->ignored, &problem))
        return true;
    g_prefix_error(&problem, "%s: ", folder);
    if (!g_error_matches(problem, LOAM_ERROR, LOAM_ERROR_USER))
        return fail_with(error, problem);
    log_warning("%s; the other runs go on", problem->message);
    if (*failed == NULL)
        *failed = problem;
    else
        g_error_free(problem);
    return true;
}

static bool train_all(const ManyRuns *many, const char *dir, const GPtrArray *runs, GError **failed, GError **error)
{
    for (guint i = 0; i < runs->len; i++) {
        OneRun *run = runs->pdata[i];
        log_info("== run %u of %u: %s/%s", i + 1, runs->len, dir, run->folder->str);
        if (!train_one(many, dir, run, failed, error))
            return false;
    }
    return true;
}

/* Warns of runs that had ended with other options than those of this command. Returns their folders, which end with
 * NULL: GPtrArray of char *. */
static GPtrArray *list_former(const char *dir, const GPtrArray *runs)
{
    GPtrArray *former = g_ptr_array_new_with_free_func(g_free);
    const OneRun *example = NULL;
    for (guint i = 0; i < runs->len; i++) {
        const OneRun *run = runs->pdata[i];
        if (run->ignored)
            g_ptr_array_add(former, folder_of(dir, example = run));
    }
    if (example)
        log_warning("%u of %u runs had ended with other options (%s: %s): the table has their former scores; another "
                    "run.dir trains them anew",
                    former->len, runs->len, example->folder->str, example->ignored);
    g_ptr_array_add(former, NULL);
    return former;
}

/* Prints the table of all runs that have an evaluation. Of several processes only the first prints it. */
static bool print_runs_table(const char *dir, const GPtrArray *runs, GError **error)
{
    const CommLaunch launch = comm_launch();
    if (launch.size > 1 && launch.rank > 0)
        return true;
    g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < runs->len; i++) {
        g_autofree char *folder = folder_of(dir, runs->pdata[i]), *run = run_of(folder);
        if (run)
            g_ptr_array_add(folders, g_steal_pointer(&folder));
    }
    g_autoptr(GPtrArray) former = list_former(dir, runs);
    const CollectOptions options = { .digits = 2, .former = (const char *const *)former->pdata };
    return folders->len == 0 || collect_runs((char **)folders->pdata, (int)folders->len, &options, error);
}

/* Fails if the command line also gives one value to an option that --sweep or --seeds gives several. */
static bool check_swept(const ManyRuns *many, const GPtrArray *runs, GError **error)
{
    const OneRun *first = runs->pdata[0];
    for (guint i = 0; i < first->settings->len; i++) {
        const char *setting = first->settings->pdata[i];
        const size_t name = strcspn(setting, "=") + 1;
        for (int k = 0; k < many->n_overrides; k++)
            if (strncmp(many->overrides[k], setting, name) == 0)
                return fail_user(error, "%s: the values of %.*s are those of %s: leave one of the two out",
                                 many->overrides[k], (int)name - 1, setting,
                                 g_str_has_prefix(setting, "run.seed=") ? "--seeds" : "--sweep");
    }
    return true;
}

/* Trains the run RUN/SETTING/seed-N for each combination of values and each seed, where RUN is run.dir of the
 * configuration, and prints a table of their scores. A finished run is not trained again. All
 * configurations are checked before the first run starts. If a run fails with LOAM_ERROR_USER, for example because the
 * loss is not finite at its learning rate, the other runs are still trained, and its error is returned in the end. */
static bool train_many(const ManyRuns *many, GError **error)
{
    g_auto(Config) config = { 0 };
    g_autofree char *dir = find_dir(many, &config, error), *switches = describe_switches();
    g_autoptr(GPtrArray) runs = dir ? plan_runs(error) : NULL;
    GError *failed = NULL;
    const bool good = runs && check_swept(many, runs, error) && check_runs(many, dir, runs, error);
    if (!train_agree(&config, switches, good, error) || !train_all(many, dir, runs, &failed, error)) {
        g_clear_error(&failed);
        return false;
    }
    bool printed = print_runs_table(dir, runs, failed ? NULL : error);
    if (failed)
        g_propagate_error(error, failed);
    return printed && failed == NULL;
}

/* ---- the verb ---- */

bool verb_train(int argc, char **argv, GError **error)
{
    launch_speak();
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no configuration given; usage: loam train CONFIG.yaml|RUN [group.key=value]…");
    if (!cli_check_suffix("trace", trace, ".json", error))
        return false;
    if (seeds || sweeps) {
        const ManyRuns many = { .path = argv[1], .overrides = argv + 2, .n_overrides = argc - 2 };
        if (trace || rehearse)
            return fail_user(error, "--%s is for one run; leave out --seeds and --sweep", trace ? "trace" : "rehearse");
        return train_many(&many, error);
    }
    g_auto(Config) config = { 0 };
    const bool loaded = rehearse ? load_rehearsal(&config, argv[1], argv + 2, argc - 2, error)
                                 : config_load_run(&config, argv[1], argv + 2, argc - 2, error);
    if (loaded && !rehearse)
        note_other_folder(&config, argv[1], argv + 2, argc - 2);
    g_autofree char *switches = describe_switches();
    return train_agree(&config, switches, loaded, error) && train_run(&config, trace, NULL, error);
}
