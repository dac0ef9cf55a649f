/* group.cu: the lists of a group. */
#include "device/cuda/kernels/group.h"

static void run_list(Device *dev, GroupList *list)
{
    if (list->n > 0)
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
        run_list(dev, list);
}

void group_set(Device *dev, bool open)
{
    Group *group = gpu_group(gpu_of(dev));
    CHECK(group->open != open, "a group in a group, or the end of none");
    group->open = open;
    for (GroupList &list : group->lists)
        run_list(dev, &list);
}
