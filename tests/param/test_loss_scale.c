#include "param/loss_scale.h"

#include "base/error.h"

/* Steps, one letter each ('.': finite, 'x': overflow), and the scale after each; `stuck` is the step at which the run
 * would end, -1 means none. */
typedef struct Script {
    const char *name;
    LossScaleConfig config;
    const char *steps;
    double scales[24];
    int stuck;
} Script;

static const Script scripts[] = {
    /* Only a doubling restores the hysteresis, and an overflow starts the window anew. */
    { "megatron",
      { .scaler = SCALER_MEGATRON, .initial = 16, .window = 3, .hysteresis = 2, .min = 1 },
      "xxx...x..x....",
      { 16, 8, 4, 4, 4, 8, 8, 8, 8, 4, 4, 4, 8, 8 },
      -1 },
    { "megatron_stays_at_the_smallest",
      { .scaler = SCALER_MEGATRON, .initial = 2, .window = 9, .hysteresis = 1, .min = 1 },
      "xxxx",
      { 1, 1, 1, 1 },
      -1 },
    /* The first window ends with step 2: the overflow before the first step counts as step -1. */
    { "deepspeed",
      { .scaler = SCALER_DEEPSPEED, .initial = 16, .window = 3, .hysteresis = 2, .min = 4 },
      "...xxx......xxxxx",
      { 16, 16, 32, 32, 16, 8, 8, 8, 16, 16, 16, 32, 32, 16, 8, 4, 4 },
      16 },
    { "fairseq",
      { .scaler = SCALER_FAIRSEQ, .initial = 4, .window = 3, .min = 1e-4 },
      "...x......",
      { 4, 4, 8, 4, 4, 4, 8, 8, 8, 16 },
      -1 },
    /* Two overflows among ten updates of the README of fully_sharded, --fp16-init-scale 4. */
    { "fairseq_readme",
      { .scaler = SCALER_FAIRSEQ, .initial = 4 },
      ".x....x.....",
      { 4, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1 },
      -1 },
    /* 1 of 1 step, then 1 of 3 (kept), 2 of 4 and 1 of 1. */
    { "fairseq_tolerance",
      { .scaler = SCALER_FAIRSEQ, .initial = 8, .window = 100, .tolerance = 0.5 },
      "x..xxx",
      { 4, 4, 4, 4, 2, 1 },
      -1 },
    { "fairseq_ends_at_the_smallest", { .scaler = SCALER_FAIRSEQ, .initial = 4, .min = 1 }, "xx", { 2, 2 }, 1 },
    /* 8, 4, 4 (not 2), 4, then up after three finite steps and down again. */
    { "fairseq_threshold",
      { .scaler = SCALER_FAIRSEQ, .initial = 8, .window = 3, .threshold = 4, .min = 1e-4 },
      "xxx...xx",
      { 4, 4, 4, 4, 4, 8, 4, 4 },
      -1 },
    /* The threshold lies above the smallest scale, which is never reached; below it, the run ends as without. */
    { "fairseq_threshold_keeps_the_run_alive",
      { .scaler = SCALER_FAIRSEQ, .initial = 4, .min = 1, .threshold = 2 },
      "xxxx",
      { 2, 2, 2, 2 },
      -1 },
    { "fairseq_threshold_below_the_smallest",
      { .scaler = SCALER_FAIRSEQ, .initial = 4, .min = 1, .threshold = 0.5 },
      "xx",
      { 2, 2 },
      1 },
    /* Those of torch.amp.GradScaler(init_scale=16, growth_interval=3), torch 2.15.0, on gradients with inf planted. */
    { "gradscaler_is_megatron_without_hysteresis",
      { .scaler = SCALER_MEGATRON, .initial = 16, .window = 3, .hysteresis = 1 },
      "x...x..xx....x",
      { 8, 8, 8, 16, 8, 8, 8, 4, 2, 2, 2, 4, 4, 2 },
      -1 },
    { "fixed", { .scaler = SCALER_FAIRSEQ, .fixed = 12 }, "xxx....", { 12, 12, 12, 12, 12, 12, 12 }, -1 },
    /* What Megatron-LM's own defaults do with the first steps of a run: 2^32, and the first overflow is forgiven. */
    { "megatron_defaults", { .scaler = SCALER_MEGATRON }, "xxxx.", { 0x1p32, 0x1p31, 0x1p30, 0x1p29, 0x1p29 }, -1 },
    { "deepspeed_defaults", { .scaler = SCALER_DEEPSPEED }, "xxxx.", { 0x1p16, 0x1p15, 0x1p14, 0x1p13, 0x1p13 }, -1 },
};

static void scales_follow_the_script(const void *data)
{
    const Script *script = data;
    LossScaleConfig config = script->config;
    g_assert_true(loss_scale_resolve(&config, 1, NULL));
    LossScale state = loss_scale_start(&config);
    for (int i = 0; script->steps[i]; i++) {
        g_assert_cmpint(loss_scale_update(&state, &config, script->steps[i] == 'x'), ==, i != script->stuck);
        g_assert_cmpfloat(state.scale, ==, script->scales[i]);
    }
}

/* 2^14 steps of one microbatch, 2^12 of four, 1 of more than there are. */
static void fairseq_divides_its_window_by_the_microbatches(void)
{
    static const int64_t cases[][2] = { { 1, 16384 }, { 4, 4096 }, { 3, 5461 }, { 100000, 1 } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        LossScaleConfig config = { .scaler = SCALER_FAIRSEQ };
        g_assert_true(loss_scale_resolve(&config, cases[i][0], NULL));
        g_assert_cmpint(config.window, ==, cases[i][1]);
        LossScale state = loss_scale_start(&config);
        for (int64_t step = 0; step + 1 < config.window; step++)
            loss_scale_update(&state, &config, false);
        g_assert_cmpfloat(state.scale, ==, 128);
        loss_scale_update(&state, &config, false);
        g_assert_cmpfloat(state.scale, ==, 256);
    }
}

static void a_first_scale_below_the_smallest_is_refused(void)
{
    LossScaleConfig config = { .scaler = SCALER_DEEPSPEED, .initial = 0.5 };
    GError *error = NULL;
    g_assert_false(loss_scale_resolve(&config, 1, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, "fp16.initial_scale 0.5 is below fp16.min_scale 1"));
    g_clear_error(&error);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(scripts); i++) {
        g_autofree char *path = g_strdup_printf("/loss_scale/follows_the_script_of/%s", scripts[i].name);
        g_test_add_data_func(path, &scripts[i], scales_follow_the_script);
    }
    g_test_add_func("/loss_scale/fairseq_divides_its_window_by_the_microbatches",
                    fairseq_divides_its_window_by_the_microbatches);
    g_test_add_func("/loss_scale/a_first_scale_below_the_smallest_is_refused",
                    a_first_scale_below_the_smallest_is_refused);
    return g_test_run();
}
