/* submit.c: `loam task submit`: predictions in the files that the leaderboards of GLUE, SuperGLUE, SQuAD and SCROLLS
 * take. */
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/task/submission.h"
#include "cli/task/task.h"

#include <inttypes.h>

#define USAGE "loam task submit NAME PREDICTIONS.jsonl --out FOLDER"

static const char about[] =
    "Turns the predictions that `loam eval --task --out` wrote for a test set into the file that the leaderboard of "
    "GLUE,\n"
    "SuperGLUE, SQuAD or SCROLLS accepts. NAME is the task; the file gets the name that the leaderboard requires.\n"
    "\n"
    "  loam eval runs/rte@best --task task.valid=glue/RTE/test.tsv --out rte.jsonl\n"
    "  loam task submit rte rte.jsonl --out submission\n";

static char *out_folder;
static const GOptionEntry entries[] = {
    CLI_PATH("out", out_folder, "folder for the file; created if missing", "FOLDER"),
    { 0 },
};

static bool submit(const Submission *form, const char *task, const char *path, GError **error)
{
    g_autofree char *target = g_build_filename(out_folder, submission_file(form), NULL);
    char *const read[] = { (char *)path };
    SubmissionText made;
    bool good = submission_read(form, path, &made, error) && io_make_directories(out_folder, error) &&
                io_check_apart(target, read, 1, error) && io_write_file(target, made.text->str, made.text->len, error);
    if (good && made.unknown > 0)
        log_warning("%" PRId64 " of %" PRId64 " predictions are not labels of %s, and are written as %s", made.unknown,
                    made.n, task, made.stands_as);
    if (good)
        log_info("%s: %" PRId64 " predictions", target, made.n);
    submission_text_clear(&made);
    return good;
}

bool task_verb_submit(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc != 3 || out_folder == NULL)
        return fail_user(error, "a task, a file of predictions and --out are wanted; usage: " USAGE);
    const Submission *form = submission_find(argv[1]);
    return form
               ? submit(form, argv[1], argv[2], error)
               : fail_user(error, "%s: no leaderboard takes predictions of this task; `loam task list` lists the tasks",
                           argv[1]);
}
