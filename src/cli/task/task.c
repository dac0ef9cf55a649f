#include "cli/task/task.h"

#include "cli/cli.h"

static const SubVerb sub_verbs[] = {
    { "list", task_verb_list, "list the tasks that loam knows" },
    { "show", task_verb_show, "print examples as the model reads them" },
    { "prepare", task_verb_prepare, "convert a task into a token dataset" },
    { "submit", task_verb_submit, "convert predictions into a leaderboard's file" },
};

bool verb_task(int argc, char **argv, GError **error)
{
    return cli_run_sub_verb(sub_verbs, G_N_ELEMENTS(sub_verbs), "task",
                            "loam task show task.name=rte task.data=glue/RTE", argc, argv, error);
}
