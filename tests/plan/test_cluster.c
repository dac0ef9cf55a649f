#include "plan/cluster/cluster.h"

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

/* The configuration of these options. */
static void load(Config *config, const char *const *overrides)
{
    GError *error = NULL;
    *config = (Config){ 0 };
    config_load(config, NULL, (char **)overrides, (int)g_strv_length((char **)overrides), &error);
    g_assert_no_error(error);
}

static void assert_same_plan(const MemoryPlan *x, const MemoryPlan *y)
{
    g_assert_cmpuint(x->weights, ==, y->weights);
    g_assert_cmpuint(x->gradients, ==, y->gradients);
    g_assert_cmpuint(x->optimizer, ==, y->optimizer);
    g_assert_cmpuint(x->activations, ==, y->activations);
    g_assert_cmpuint(x->batches, ==, y->batches);
    g_assert_cmpuint(x->scratch, ==, y->scratch);
    g_assert_cmpuint(x->device, ==, y->device);
    g_assert_cmpuint(x->updated, ==, y->updated);
    g_assert_cmpuint(x->saved, ==, y->saved);
    g_assert_cmpint(x->micro_batches, ==, y->micro_batches);
    g_assert_cmpfloat(x->flops, ==, y->flops);
    g_assert_cmpint(x->launches, ==, y->launches);
    for (int kind = 0; kind < SENT_KINDS; kind++)
        g_assert_cmpint(x->sent_kinds.bytes[kind], ==, y->sent_kinds.bytes[kind]);
}

/* The plans of a stage at every ZeRO level, with microbatches of 4 samples, of 1 and of 3. */
static void compare_plans(Config *config, int32_t input_length, int32_t target_length)
{
    static const int samples[] = { 4, 1, 3 };
    MemoryPlanner *planner = memory_planner_new(input_length, target_length);
    for (int i = 0; i < 3 * 4 * 2; i++) {
        MemoryPlan together, alone;
        GError *error = NULL;
        config->train.micro_batch = (Amount){ .value = samples[i / 8], .unit = UNIT_SAMPLES };
        config->parallel.zero = ZERO_WEIGHTS - i / 2 % 4;
        config->train.recompute = i % 2;
        memory_planner_plan(planner, config, &together, &error);
        g_assert_no_error(error);
        memory_plan_rank(config, input_length, target_length, &alone, &error);
        g_assert_no_error(error);
        assert_same_plan(&together, &alone);
    }
    memory_planner_free(planner);
}

#define PLANNED "model.vocab=500", "train.device=cuda", "train.precision=bf16", "train.batch=26 samples"
static const char *const planned[][12] = {
    { "model.preset=t5-1.1-tiny", "parallel.ranks=16", "parallel.tensor=2", "parallel.pipeline=4", PLANNED },
    { "model.preset=gpt2", "parallel.ranks=8", "parallel.pipeline=4", "parallel.interleave=3", PLANNED },
    { "model.preset=gpt2", "parallel.ranks=4", "parallel.tensor=2", "parallel.sequence=true", "optim.name=adafactor",
      PLANNED },
    { "model.preset=bert-base", "parallel.ranks=4", "parallel.context=2", "train.freeze=*embed*", PLANNED },
};

static void plans_made_together_are_those_made_alone(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(planned); i++) {
        Config config;
        load(&config, planned[i]);
        for (int s = 0; s < config.parallel.pipeline; s++) {
            config.parallel.stage = s;
            compare_plans(&config, config.model.n_enc ? 64 : 0, config.model.n_dec ? 48 : 0);
        }
        config_clear(&config);
    }
}

/* Ranks with equally many blocks may differ in how many their first stage has, which keeps the most microbatches. */
static void the_memory_is_that_of_the_stage_that_needs_most(void)
{
    static const char *const options[] = {
        "model.preset=tr1-13b",   "model.vocab=50257",           "data.objective=clm",   "data.input_length=2048",
        "train.batch=64 samples", "train.micro_batch=1 samples", "parallel.ranks=16",    "parallel.pipeline=16",
        "parallel.interleave=2",  "train.device=cuda",           "train.precision=bf16", NULL
    };
    GError *error = NULL;
    Config config;
    Machine h100;
    StepCost cost;
    double most = 0;
    load(&config, options);
    g_assert_true(machine_find(&h100, "h100", NULL));
    cost_of_step(&config, &h100, 0, 2048, &cost, &error);
    g_assert_no_error(error);
    for (int s = 0; s < 16; s++) {
        MemoryPlan plan;
        config.parallel.stage = s;
        memory_plan_rank(&config, 0, 2048, &plan, &error);
        g_assert_no_error(error);
        most = MAX(most, (double)(memory_total(&plan) - plan.batches - plan.saving));
    }
    g_assert_cmpfloat(cost.bytes, ==, most);
    config_clear(&config);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cluster/megatron_s_counts_and_days_are_those_published",
                    megatron_s_counts_and_days_are_those_published);
    g_test_add_func("/cluster/messages_between_nodes_are_counted", messages_between_nodes_are_counted);
    g_test_add_func("/cluster/machines_are_found_by_name_or_in_files", machines_are_found_by_name_or_in_files);
    g_test_add_func("/cluster/plans_made_together_are_those_made_alone", plans_made_together_are_those_made_alone);
    g_test_add_func("/cluster/the_memory_is_that_of_the_stage_that_needs_most",
                    the_memory_is_that_of_the_stage_that_needs_most);
    return g_test_run();
}
