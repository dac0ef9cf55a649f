/* group.cu: the lists of a group. */
#include "device/cuda/kernels/group.h"

static const char *const names[GROUP_KINDS] = {
    "sumsq", "adamw", "adafactor_moments", "adafactor_columns", "adafactor_size", "adafactor",
};

static void run_list(Device *dev, Group *group, int kind)
{
    GroupList *list = &group->lists[kind];
    if (list->n == 0)
        return;
    gpu_begin(names[kind]);
    list->run(dev, list->of, list->n);
    list->n = 0;
}

void group_add(Device *dev, GroupKind kind, GroupRun run, const Update &update)
{
    Group *group = gpu_group(gpu_of(dev));
    GroupList *list = &group->lists[kind];
    list->run = run;
    list->of[list->n++] = update;
    if (!group->open || list->n == MOST_JOBS)
        run_list(dev, group, kind);
}

void group_set(Device *dev, bool open)
{
    Group *group = gpu_group(gpu_of(dev));
    CHECK(group->open != open, "a group in a group, or the end of none");
    group->open = open;
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        run_list(dev, group, kind);
}
