#include "train/cluster/cluster.h"

#include "data/data_test.h"

#include <math.h>

static void megatron_s_counts_and_days_are_those_published(void)
{
    /* BLOOM: 70 blocks of 14,336 channels, 2,048 samples of 2,048 tokens in 105.22 s on 384 GPUs: 149.02 TFLOP/s. */
    ModelConfig bloom = { .n_dec = 70, .width = 14336, .vocab = 250880 };
    g_assert_cmpfloat_with_epsilon(megatron_step_flops(&bloom, 2048, 2048, true) / (105.22 * 384 * 1e12), 149.02,
                                   0.005);
    /* tr1-13B: 300 billion tokens, 13 billion parameters, 256 GPUs at 45 TFLOP/s: 31.35 days. */
    g_assert_cmpfloat_with_epsilon(training_days(300e9, 13e9, 256, 45e12), 31.35, 0.005);
    bloom.n_enc = 1;
    g_assert_cmpfloat(megatron_step_flops(&bloom, 2048, 2048, true), ==, 0);
}

/* Groups of ranks on nodes, and the share of their messages between nodes. */
static const struct {
    int n, stride, per_node;
    bool chain;
    double share;
} groups[] = {
    { 1, 1, 8, false, 0 },         { 8, 1, 8, false, 0 },          { 2, 1, 1, false, 1 },
    { 16, 1, 8, false, 8.0 / 15 }, { 32, 2, 4, false, 30.0 / 31 }, { 4, 64, 4, true, 1 },
    { 4, 2, 8, true, 0 },          { 4, 2, 4, true, 1.0 / 3 },     { 4, 4, 4, false, 1 },
    { 3, 1, 2, false, 4.0 / 6 },   { 3, 1, 2, true, 1.0 / 2 },
};

static void messages_between_nodes_are_counted(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
        g_assert_cmpfloat_with_epsilon(cost_between(groups[i].n, groups[i].stride, groups[i].per_node, groups[i].chain),
                                       groups[i].share, 1e-12);
}

static void machines_are_found_by_name_or_in_files(void)
{
    static const char *const wrong[] = {
        "",
        "[]",
        "{}",
        "{\"machine\": 3}",
        "{\"machine\": {\"ranks_per_node\": 0}}",
        "{\"machine\": {\"ranks_per_node\": 2, \"memory_bytes\": \"many\"}}",
        "{\"machine\": {\"ranks_per_node\": 2, \"memory_bytes\": -1}}",
        "{\"machine\": {\"ranks_per_node\": 2,",
    };
    Machine h100, again;
    char *folder = folder_new();
    g_autofree char *path = g_build_filename(folder, "m.json", NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(machine_find(&h100, "h100", &error) && h100.per_node == 8);
    json_t *file = json_pack("{s:o}", "machine", machine_to_json(&h100));
    g_assert_cmpint(json_dump_file(file, path, 0), ==, 0);
    json_decref(file);
    g_assert_true(machine_find(&again, path, &error));
    g_assert_true(again.flops == h100.flops && again.between == h100.between && again.per_node == 8);
    g_assert_true(again.watts == 0 && strcmp(again.name, "m.json") == 0);
    g_assert_true(again.gpus && again.bf16 && again.fp8 == h100.fp8 && again.launch_s > 0 && again.host > 0);
    file = json_pack("{s:o}", "machine", machine_to_json(&h100));
    json_object_del(json_object_get(file, "machine"), "fp8");
    g_assert_cmpint(json_dump_file(file, path, 0), ==, 0);
    g_assert_true(machine_find(&again, path, &error) && again.gpus && again.fp8 == 0);
    json_object_del(json_object_get(file, "machine"), "gpus");
    g_assert_cmpint(json_dump_file(file, path, 0), ==, 0);
    json_decref(file);
    g_assert_true(machine_find(&again, path, &error) && !again.gpus && again.fp8 == 1 && again.launch_s == 0);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_true(g_file_set_contents(path, wrong[i], -1, NULL));
        g_assert_false(machine_find(&again, path, &error));
        g_assert_nonnull(error);
        g_clear_error(&error);
    }
    g_assert_false(machine_find(&again, "h1000", &error));
    g_assert_nonnull(strstr(error->message, "h200, h100, a100, v100, cpu"));
    folder_remove(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cluster/megatron_s_counts_and_days_are_those_published",
                    megatron_s_counts_and_days_are_those_published);
    g_test_add_func("/cluster/messages_between_nodes_are_counted", messages_between_nodes_are_counted);
    g_test_add_func("/cluster/machines_are_found_by_name_or_in_files", machines_are_found_by_name_or_in_files);
    return g_test_run();
}
