#include "train/memory.h"

#include "data/data_test.h"

/* The control group that the processes of a test are in, and what it leaves them. */
static const struct {
    const char *groups; /* /proc/self/cgroup */
    size_t room;
} cases[] = {
    { "0::/job\n", 700 },                         /* version 2: 1000 - (400 - 100) */
    { "0::/job/step\n", 700 },                    /* no limit of its own: its parent's binds */
    { "0::/free\n", SIZE_MAX },                   /* "max" */
    { "0::/\n", SIZE_MAX },                       /* the root has no limit */
    { "0::/elsewhere\n", SIZE_MAX },              /* a path that cannot be seen from in here */
    { "3:cpu:/job\n4:memory:/job\n0::/\n", 450 }, /* version 1: 500 - (80 - 30) */
    { "4:memory:/full\n", 0 },
    { "", SIZE_MAX },
};

static void what_control_groups_leave_is_known(void)
{
    char *root = folder_new();
    static const char *const files[][2] = {
        { "job/memory.max", "1000\n" },
        { "job/memory.current", "400\n" },
        { "job/memory.stat", "anon 300\ninactive_anon 7\ninactive_file 100\n" },
        { "job/step/memory.max", "max\n" },
        { "job/step/memory.current", "400\n" },
        { "free/memory.max", "max\n" },
        { "free/memory.current", "400\n" },
        { "memory/job/memory.limit_in_bytes", "500\n" },
        { "memory/job/memory.usage_in_bytes", "80\n" },
        { "memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 30\n" },
        { "memory/full/memory.limit_in_bytes", "500\n" },
        { "memory/full/memory.usage_in_bytes", "600\n" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        g_free(file_write_text(root, files[i][0], files[i][1]));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *groups = file_write_text(root, "cgroup", cases[i].groups);
        g_assert_cmpuint(memory_group_room(groups, root), ==, cases[i].room);
    }
    g_assert_cmpuint(memory_group_room("/nonexistent", root), ==, SIZE_MAX);
    folder_remove(root);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/memory/what_control_groups_leave_is_known", what_control_groups_leave_is_known);
    return g_test_run();
}
