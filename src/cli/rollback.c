/* rollback.c: `loam rollback`: puts a run back to one of its checkpoints. */
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "run/run_dir.h"
#include "train/train.h"

#include <inttypes.h>

#define USAGE "loam rollback RUN --to STEP | --undo"

static const char about[] = "Puts a run back to one of its checkpoints: later checkpoints, lines of metrics.jsonl and "
                            "TensorBoard's events are\n"
                            "taken out of it, and `loam train` goes on from there. They stay in RUN/rollback, and "
                            "--undo puts them back, until\n"
                            "the run saves its next checkpoint.\n"
                            "\n"
                            "  loam rollback runs/a --to 12000\n";

static char *to;
static gboolean undo;
static const GOptionEntry entries[] = {
    CLI_VALUE("to", to, "STEP", "step of the checkpoint to go back to"),
    CLI_SWITCH("undo", undo, "undo the rollbacks since the last save"),
    { 0 },
};

static bool parse_step(int64_t *step, GError **error)
{
    return g_ascii_string_to_signed(to, 10, 0, INT64_MAX, step, NULL) ||
           fail_user(error,
                     "--to is \"%s\", want the step of a checkpoint, such as 12000; `loam status RUN` or `ls "
                     "RUN/checkpoints` shows them",
                     to);
}

static void tell_undone(const char *dir)
{
    g_autoptr(GArray) steps = run_checkpoints(dir);
    const int64_t lost = run_lost_save(dir);
    g_autofree char *newest = steps->len == 0 ? g_strdup("it has no checkpoint")
                                              : g_strdup_printf("its newest checkpoint is step %" PRId64,
                                                                g_array_index(steps, int64_t, 0)),
                    *missing = lost < 0 ? g_strdup("") : g_strdup_printf(", step %" PRId64 " is missing", lost);
    log_info("%s is as it was before: %s%s", dir, newest, missing);
}

bool verb_rollback(int argc, char **argv, GError **error)
{
    int64_t step = 0;
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc != 2)
        return fail_user(error, "give one run; usage: " USAGE);
    if ((to != NULL) == undo)
        return fail_user(error, "give %s", undo ? "one of --to STEP and --undo" : "--to STEP, or --undo");
    g_autofree char *dir = run_find(argv[1], error), *word = text_shell_word(argv[1]);
    if (dir == NULL || !(undo ? rollback_undo(dir, error) : parse_step(&step, error) && rollback_to(dir, step, error)))
        return false;
    if (undo)
        tell_undone(dir);
    else
        log_info("%s is at step %" PRId64
                 "; what came after lies in %s/rollback until the next save, and `loam rollback "
                 "%s --undo` puts it back",
                 dir, step, dir, word);
    return true;
}
