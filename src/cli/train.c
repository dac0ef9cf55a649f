/* train.c: `loam train`: starts or resumes a run. */
#include "cli/cli.h"
#include "train/config/config.h"
#include "train/trainer/trainer.h"

static const char about[] =
    "Trains until train.length, or goes on where the run directory stands. Press Ctrl-C (or send SIGTERM, SIGUSR1 or\n"
    "SIGHUP) to save and stop; the same command goes on from there, or the run's directory in the place of\n"
    "CONFIG.yaml. `loam help --options` lists every option.\n\n"
    "  loam train config.yaml run.dir=runs/a optim.lr=1e-3\n"
    "  loam train runs/a\n";

static char *trace;
static const GOptionEntry entries[] = {
    CLI_PATH("trace", trace, "write the operations of the second step, for ui.perfetto.dev or chrome://tracing",
             "FILE"),
    { 0 },
};

bool verb_train(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, "loam train CONFIG.yaml|RUN [--trace FILE] [group.key=value]…", about, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no configuration given; usage: loam train CONFIG.yaml|RUN [group.key=value]…");
    g_auto(Config) config = { 0 };
    return config_load_run(&config, argv[1], argv + 2, argc - 2, error) && train_run(&config, trace, error);
}
