/* train.c: `loam train`: starts or resumes a run, or several. */
#include "cli/cli.h"
#include "cli/train/many.h"
#include "train/config/config.h"
#include "train/launch.h"
#include "train/trainer/trainer.h"

#define USAGE "loam train CONFIG.yaml|RUN [--trace FILE] [--seeds N] [--sweep OPTION=VALUE,VALUE…]… [group.key=value]…"

static const char about[] =
    "Trains a model until train.length, or continues the run in run.dir. Press Ctrl-C (or send SIGTERM, SIGUSR1 or\n"
    "SIGHUP) to save a checkpoint and stop; the same command then continues the run, and so does `loam train RUN`\n"
    "with the run directory. --seeds and --sweep train one run per seed and per combination of values, each in a "
    "folder\n"
    "below run.dir, and print a table of their scores; the same command continues with unfinished runs.\n"
    "`loam help --options` lists every option.\n"
    "\n"
    "  loam train config.yaml run.dir=runs/a optim.lr=1e-3\n"
    "  loam train runs/a\n"
    "  loam train config.yaml run.dir=runs/grid --seeds 5 --sweep optim.lr=1e-4,3e-4\n";

static char *trace, *seeds, **sweeps;
static const GOptionEntry entries[] = {
    CLI_PATH("trace", trace, "write a trace of the second step, for ui.perfetto.dev or chrome://tracing", "FILE"),
    CLI_VALUE("seeds", seeds, "train one run per seed, 1 to N, or per seed of a list: 7,8,9", "N"),
    CLI_VALUE("sweep", sweeps,
              "train one run per value of an option; with several --sweep, one per combination; separate values that "
              "contain commas by |",
              "OPTION=VALUE,VALUE…"),
    { 0 },
};

bool verb_train(int argc, char **argv, GError **error)
{
    launch_speak();
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no configuration given; usage: loam train CONFIG.yaml|RUN [group.key=value]…");
    if (seeds || sweeps) {
        const ManyRuns many = {
            .path = argv[1], .overrides = argv + 2, .n_overrides = argc - 2, .seeds = seeds, .sweeps = sweeps
        };
        return trace ? fail_user(error, "--trace is for one run; leave out --seeds and --sweep")
                     : train_many(&many, error);
    }
    g_auto(Config) config = { 0 };
    return config_load_run(&config, argv[1], argv + 2, argc - 2, error) && train_run(&config, trace, error);
}
