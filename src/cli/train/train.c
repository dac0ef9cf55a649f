/* train.c: `loam train`: starts or resumes a run, or several. */
#include "cli/cli.h"
#include "cli/train/many.h"
#include "train/config/config.h"
#include "train/launch.h"
#include "train/trainer/trainer.h"

#define USAGE "loam train CONFIG.yaml|RUN [--trace FILE] [--seeds N] [--sweep OPTION=VALUE,VALUE…]… [group.key=value]…"

static const char about[] =
    "Trains until train.length, or goes on where the run directory stands. Press Ctrl-C (or send SIGTERM, SIGUSR1 or\n"
    "SIGHUP) to save and stop; the same command goes on from there, or the run's directory in the place of\n"
    "CONFIG.yaml. With --seeds and --sweep it trains a run for each seed and each combination of values, in folders\n"
    "below run.dir, and prints the table of their scores; the same command goes on with what is left. `loam help "
    "--options` lists every option.\n\n"
    "  loam train config.yaml run.dir=runs/a optim.lr=1e-3\n"
    "  loam train runs/a\n"
    "  loam train config.yaml run.dir=runs/grid --seeds 5 --sweep optim.lr=1e-4,3e-4\n";

static char *trace, *seeds, **sweeps;
static const GOptionEntry entries[] = {
    CLI_PATH("trace", trace, "write the operations of the second step, for ui.perfetto.dev or chrome://tracing",
             "FILE"),
    CLI_VALUE("seeds", seeds, "train with seeds 1 to N, or with a list of seeds: 7,8,9", "N"),
    CLI_VALUE("sweep", sweeps,
              "train with each value of an option, and with several of these, each combination; | between values that "
              "hold commas",
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
        return trace ? fail_user(error, "--trace is of one run; leave out --seeds and --sweep")
                     : train_many(&many, error);
    }
    g_auto(Config) config = { 0 };
    return config_load_run(&config, argv[1], argv + 2, argc - 2, error) && train_run(&config, trace, error);
}
