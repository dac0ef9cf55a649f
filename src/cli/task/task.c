#include "cli/task/task.h"

#include "cli/cli.h"

static const SubVerb sub_verbs[] = {
    { "list", task_verb_list, "the tasks that loam knows" },
    { "show", task_verb_show, "examples as the model gets them" },
    { "prepare", task_verb_prepare, "a task to a token dataset" },
    { "submit", task_verb_submit, "predictions in the form of a leaderboard" },
};

bool verb_task(int argc, char **argv, GError **error)
{
    return cli_run_sub_verb(sub_verbs, G_N_ELEMENTS(sub_verbs), "task",
                            "loam task show task.name=rte task.data=glue/RTE", argc, argv, error);
}
