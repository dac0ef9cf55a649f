/* rollback.c: `loam rollback`: puts a run back to one of its checkpoints. */
#include "base/log.h"
#include "cli/cli.h"
#include "train/run_dir.h"
#include "train/trainer/trainer.h"

#include <inttypes.h>

#define USAGE "loam rollback RUN --to STEP | --undo"

static const char about[] = "Puts a run back to one of its checkpoints: later checkpoints, lines of metrics.jsonl and "
                            "TensorBoard's events are\n"
                            "taken out of it, and `loam train` goes on from there. They stay in RUN/rollback, and "
                            "--undo puts them back, until\n"
                            "the run saves its next checkpoint.\n"
                            "\n"
                            "  loam rollback runs/a --to 12000\n";

static int64_t to = -1;
static gboolean undo;
static const GOptionEntry entries[] = {
    CLI_VALUE("to", to, "step of the checkpoint to go back to", "STEP"),
    CLI_SWITCH("undo", undo, "undo the rollbacks since the last save"),
    { 0 },
};

bool verb_rollback(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc != 2)
        return fail_user(error, "give one run; usage: " USAGE);
    if ((to >= 0) == undo)
        return fail_user(error, "give --to STEP, or --undo");
    g_autofree char *dir = run_of(argv[1]);
    if (dir == NULL)
        return fail_user(error, "%s is no run of loam: give the folder that `loam train` made", argv[1]);
    if (undo ? !rollback_undo(dir, error) : !rollback_to(dir, to, error))
        return false;
    if (undo)
        log_info("%s is as it was before: its newest checkpoint is step %" PRId64, dir, run_linked(dir, "latest"));
    else
        log_info("%s is at step %" PRId64
                 "; what came after lies in %s/rollback until the next save, and `loam rollback "
                 "%s --undo` puts it back",
                 dir, to, dir, argv[1]);
    return true;
}
