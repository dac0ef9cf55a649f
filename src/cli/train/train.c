/* train.c: `loam train`: starts or resumes a run, or several. */
#include "train/train.h"
#include "cli/cli.h"
#include "cli/train/many.h"
#include "run/config/config.h"
#include "run/launch.h"

#include <inttypes.h>

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
    CLI_PATH("trace", trace, "write a trace of the second step, for ui.perfetto.dev or chrome://tracing", "FILE"),
    CLI_SWITCH(
        "rehearse", rehearse,
        "train a small version of the model for 20 steps in RUN-rehearsal, with the same layout, data and optimizer"),
    CLI_VALUE("seeds", seeds, "train one run per seed, 1 to N, or per seed of a list: 7,8,9", "N"),
    CLI_VALUE("sweep", sweeps,
              "train one run per value of an option; with several --sweep, one per combination; separate values that "
              "contain commas by |",
              "OPTION=VALUE,VALUE…"),
    { 0 },
};

enum { BLOCKS = 8, KV_HEADS = 4, TOKENS = 64, BATCH = 32, COMPAT_SAMPLES = 4096 };

/* The same in every rehearsal: small sizes, to try a layout, data, optimizer, saves and hooks. */
static const char *const sizes[] = {
    "model.width=128",
    "model.heads=8",
    "model.head_dim=16",
    "model.ffn=256",
    "train.length=20 steps",
    "train.batch_rampup=",
    "train.batch_schedule=",
    "train.stop_at=0",
    "train.micro_batch=1 samples",
    "train.log_every=1 steps",
    "train.eval_every=10 steps",
    "train.eval_samples=16",
    "train.save_every=10 steps",
    "train.save_phases=",
    "train.keep_every=0",
    "optim.warmup=5 steps",
    "optim.decay_until=0",
};

static void add_override(GPtrArray *overrides, const char *name, int64_t value, const char *unit)
{
    g_ptr_array_add(overrides, g_strdup_printf("%s=%" PRId64 "%s", name, value, unit));
}

/* The overrides that make a rehearsal of the configuration of a file, followed by the n given ones; they do not depend
 * on the layout, so that a rehearsal can go on in another one. A NULL-terminated array; g_strfreev. */
static char **rehearsal_overrides(const Config *config, char **given, int n)
{
    GPtrArray *overrides = g_ptr_array_new();
    const ModelConfig *model = &config->model;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        g_ptr_array_add(overrides, g_strdup(sizes[i]));
    add_override(overrides, "model.n_enc", MIN(model->n_enc, BLOCKS), "");
    add_override(overrides, "model.n_dec", MIN(model->n_dec, BLOCKS), "");
    add_override(overrides, "model.kv_heads", model_config_kv_heads(model) < model->heads ? KV_HEADS : 0, "");
    add_override(overrides, "data.input_length", MIN(config->data.input_length, TOKENS), "");
    add_override(overrides, "train.batch", MIN(config_batch_samples(config), BATCH), " samples");
    if (config->data.compat == COMPAT_MEGATRON) /* its order of samples is made for so many */
        add_override(overrides, "data.compat_samples", COMPAT_SAMPLES, "");
    g_ptr_array_add(overrides, g_strconcat("run.dir=", config->run.dir, "-rehearsal", NULL));
    for (int i = 0; i < n; i++)
        g_ptr_array_add(overrides, g_strdup(given[i]));
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
        const ManyRuns many = {
            .path = argv[1], .overrides = argv + 2, .n_overrides = argc - 2, .seeds = seeds, .sweeps = sweeps
        };
        return trace || rehearse ? fail_user(error, "--%s is for one run; leave out --seeds and --sweep",
                                             trace ? "trace" : "rehearse")
                                 : train_many(&many, error);
    }
    g_auto(Config) config = { 0 };
    const bool loaded = rehearse ? load_rehearsal(&config, argv[1], argv + 2, argc - 2, error)
                                 : config_load_run(&config, argv[1], argv + 2, argc - 2, error);
    return train_agree(&config, loaded, error) && train_run(&config, trace, error);
}
