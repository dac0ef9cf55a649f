#include "plan/memory.h"

#include "data/data_test.h"

/* The control group that the processes of a test are in, and what it leaves them. */
static const struct {
    const char *groups; /* /proc/self/cgroup */
    size_t room;
} limits[] = {
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
    for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
        g_autofree char *groups = file_write_text(root, "cgroup", limits[i].groups);
        g_assert_cmpuint(memory_group_room(groups, root), ==, limits[i].room);
    }
    g_assert_cmpuint(memory_group_room("/nonexistent", root), ==, SIZE_MAX);
    folder_remove(root);
}

static bool load(Config *config, const char *const *overrides, GError **error)
{
    *config = (Config){ 0 };
    return config_load(config, NULL, (char **)overrides, (int)g_strv_length((char **)overrides), error);
}

/* Weights and gradients of 76,961,152 f32 numbers; Adam keeps two more; recompute needs fewer activations. */
static void memory_is_known_beforehand(void)
{
    Config config;
    MemoryPlan kept, again;
    const char *const overrides[] = { "model.preset=t5-1.1-small", "optim.name=adamw", "train.micro_batch=4 samples",
                                      "train.precision=f32", NULL };
    g_assert_true(load(&config, overrides, NULL));
    g_assert_true(memory_plan(&config, 512, 114, &kept, NULL));
    g_assert_cmpuint(kept.weights, ==, 4 * 76961152ul);
    g_assert_cmpuint(kept.gradients, ==, kept.weights);
    g_assert_cmpuint(kept.optimizer, ==, 2 * kept.weights);
    config.train.recompute = RECOMPUTE_BLOCK;
    g_assert_true(memory_plan(&config, 512, 114, &again, NULL));
    g_assert_cmpuint(again.activations, <, kept.activations / 2);
    config_clear(&config);
}

/* Under bf16: weights of 2 bytes beside masters of 4; gradients and residual stream as the options say. */
static void memory_follows_the_precision(void)
{
    static const struct {
        const char *precision, *residual, *gradients;
        size_t weight, gradient; /* bytes of each parameter */
    } cases[] = {
        { "train.precision=f32", "train.f32_residual=false", "train.f32_gradients=false", 4, 4 },
        { "train.precision=bf16", "train.f32_residual=true", "train.f32_gradients=true", 6, 4 },
        { "train.precision=bf16", "train.f32_residual=false", "train.f32_gradients=true", 6, 4 },
        { "train.precision=fp16", "train.f32_residual=false", "train.f32_gradients=false", 6, 2 },
    };
    const size_t vectors = 42 * 512; /* gains of norms: f32 alone */
    MemoryPlan plans[G_N_ELEMENTS(cases)];
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Config config;
        const char *const overrides[] = { "model.preset=t5-1.1-small",
                                          "optim.name=adamw",
                                          "train.micro_batch=4 samples",
                                          cases[i].precision,
                                          cases[i].residual,
                                          cases[i].gradients,
                                          NULL };
        g_assert_true(load(&config, overrides, NULL));
        g_assert_true(memory_plan(&config, 512, 114, &plans[i], NULL));
        g_assert_cmpuint(plans[i].weights, ==, cases[i].weight * 76961152 - (cases[i].weight - 4) * vectors);
        g_assert_cmpuint(plans[i].gradients, ==, cases[i].gradient * 76961152);
        g_assert_cmpuint(plans[i].optimizer, ==, 8 * 76961152ul);
        config_clear(&config);
    }
    g_assert_cmpuint(plans[1].activations, <, plans[0].activations * 3 / 4);
    g_assert_cmpuint(plans[2].activations, <, plans[1].activations * 9 / 10);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/memory/what_control_groups_leave_is_known", what_control_groups_leave_is_known);
    g_test_add_func("/memory/memory_is_known_beforehand", memory_is_known_beforehand);
    g_test_add_func("/memory/memory_follows_the_precision", memory_follows_the_precision);
    return g_test_run();
}
