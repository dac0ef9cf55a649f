/* Megatron-LM's lines: to the character, and by the patterns with which people read them. */
#include "train/services/services.h"

#include <math.h>

#define DATE "\\[\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\] "

static const TrainState state = { .steps = 29020,
                                  .samples = 10698064,
                                  .window.head[HEAD_TOKENS] = { .loss = 561.5, .nll = 561.5, .weight = 200 },
                                  .window_steps = 9,
                                  .window_skipped = 1,
                                  .window_nan = 0 };
static const TrainRecord record = { .state = &state,
                                    .lr = 9.85e-5,
                                    .grad_norm = 0.2344,
                                    .loss_scale = 4096,
                                    .step_s = 23.4912,
                                    .samples_per_s = 43.5908,
                                    .flops_per_s = 2e12,
                                    .about_steps = 311541,
                                    .batch = 1024,
                                    .ranks = 4 };

/* The widths and digits are those of BigScience's tr1-13B. */
static void the_line_is_that_of_megatron(void)
{
    g_autofree char *line = megatron_train_line(&record);
    g_assert_true(g_regex_match_simple("^ " DATE "iteration", line, 0, 0));
    g_assert_cmpstr(strchr(line, ']') + 1, ==,
                    " iteration    29020/  311541 | consumed samples:     10698064 | elapsed time per iteration (ms): "
                    "23491.2 | learning rate: 9.850E-05 | global batch size:  1024 | lm loss: 2.807500E+00 | loss "
                    "scale: 4096.0 | grad norm: 0.234 | number of skipped iterations:   1 | number of nan iterations:  "
                    " 0 | samples per second: 43.591 | throughput per GPU (TFLOP/s/GPU): 0.500 |");
}

/* What readers of such logs look for, and what each finds. */
static const struct {
    const char *pattern, *found;
} patterns[] = {
    { "iteration\\s+(\\d+)/\\s*\\d+", "29020" },
    { "iteration\\s+\\d+/\\s*(\\d+)", "311541" },
    { "consumed samples:\\s+(\\d+)", "10698064" },
    { "elapsed time per iteration \\(ms\\): ([\\d.]+)", "23491.2" },
    { "iteration\\s+\\d+/\\s*\\d+.*?elapsed time per iteration \\(ms\\):\\s+([\\d.]+).*?throughput per GPU",
      "23491.2" },
    { "throughput per GPU \\(TFLOP/s/GPU\\):\\s+([\\d.]+)", "0.500" },
    { "learning rate: ([\\d.E+-]+)", "9.850E-05" },
    { "global batch size:\\s+(\\d+) \\|", "1024" },
    { "lm loss: ([\\d.]+E[+-]\\d+)", "2.807500E+00" },
    { "loss scale: ([\\d.]+)", "4096.0" },
    { "grad norm: ([\\d.naN]+)", "0.234" },
    { "number of skipped iterations:\\s*(\\d+)", "1" },
    { "number of nan iterations:\\s*(\\d+)", "0" },
    { "^.*\\[(\\d{4})-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}\\] iteration\\s*\\d*/.*lm loss: [\\d.]*.*grad norm: [\\d.]*",
      "2" },
};

static void readers_find_every_number(void)
{
    g_autofree char *line = megatron_train_line(&record);
    for (size_t i = 0; i < G_N_ELEMENTS(patterns); i++) {
        g_autoptr(GMatchInfo) match = NULL;
        g_autoptr(GRegex) regex = g_regex_new(patterns[i].pattern, 0, 0, NULL);
        g_assert_true(g_regex_match(regex, line, 0, &match));
        g_autofree char *found = g_match_info_fetch(match, 1);
        g_assert_true(g_str_has_prefix(found, patterns[i].found));
    }
}

/* A window whose steps were all skipped has no loss, and the norm of infinite gradients is no number. */
static void unknown_fields_are_left_out(void)
{
    const TrainState skipped = { .steps = 3, .window_skipped = 3 };
    const TrainRecord unknown = { .state = &skipped, .grad_norm = INFINITY };
    g_autofree char *line = megatron_train_line(&unknown);
    g_assert_null(strstr(line, "lm loss"));
    g_assert_null(strstr(line, "grad norm"));
    g_assert_nonnull(strstr(line, "| loss scale: 1.0 | number of skipped iterations:   3 |"));
}

static void an_evaluation_has_loss_and_perplexity(void)
{
    const LossSums sums = { .head[HEAD_TOKENS] = { .loss = 6, .nll = 6, .weight = 3 } },
                   high = { .head[HEAD_TOKENS] = { .loss = 60, .nll = 60, .weight = 2 } };
    g_autofree char *line = megatron_valid_line(&(ValidRecord){ .step = 1000, .sums = &sums }),
                    *named = megatron_valid_line(&(ValidRecord){ .step = 1000, .name = "code", .sums = &high });
    g_assert_cmpstr(line, ==,
                    " validation loss at iteration 1000 | lm loss value: 2.000000E+00 | lm loss PPL: 7.389056E+00 | ");
    g_assert_cmpstr(named, ==, /* exp(20): Megatron-LM's largest perplexity */
                    " validation loss at iteration 1000 on code | lm loss value: 3.000000E+01 | lm loss PPL: "
                    "4.851652E+08 | ");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define CASE(name) g_test_add_func("/megatron_log/" #name, name)
    CASE(the_line_is_that_of_megatron);
    CASE(readers_find_every_number);
    CASE(unknown_fields_are_left_out);
    CASE(an_evaluation_has_loss_and_perplexity);
    return g_test_run();
}
