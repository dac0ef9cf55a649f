#include "train/services/services.h"

static Every of(double value, AmountUnit unit, bool count_tokens)
{
    Config config = { .data.input_length = 100, .train.batch = { 10, UNIT_SAMPLES } };
    return every_of(&config, (Amount){ value, unit }, 50, count_tokens);
}

static bool due(const Every *every, int64_t steps, int64_t tokens, int64_t step_tokens)
{
    return every_due(every, &(EveryCounts){ .steps = steps, .tokens = tokens, .step_tokens = step_tokens });
}

static void steps_samples_and_epochs_are_due_at_multiples(void)
{
    const Every cases[] = { of(5, UNIT_STEPS, true), of(50, UNIT_SAMPLES, true), of(1, UNIT_EPOCHS, true) };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        for (int64_t step = 1; step <= 20; step++)
            g_assert_true(due(&cases[i], step, 1000 * step, 1000) == (step % 5 == 0));
}

/* Steps of 700 to 1300 tokens; in full rows 5000 tokens would be 5 steps. */
static void tokens_are_due_where_their_count_passes_a_multiple(void)
{
    Every every = of(5000, UNIT_TOKENS, true), by_capacity = of(5000, UNIT_TOKENS, false);
    int64_t tokens = 0, passed = 0;
    for (int64_t step = 1; step <= 200; step++) {
        int64_t more = 700 + step * 37 % 600;
        tokens += more;
        bool is_due = due(&every, step, tokens, more);
        g_assert_true(is_due == (tokens / 5000 > (tokens - more) / 5000));
        passed += is_due;
        g_assert_true(due(&by_capacity, step, tokens, more) == (step % 5 == 0));
    }
    g_assert_cmpint(passed, ==, tokens / 5000);
}

static void a_time_is_due_once_it_has_passed(void)
{
    Every soon = of(1e-6, UNIT_SECONDS, true), late = of(1e6, UNIT_SECONDS, true);
    g_usleep(10);
    g_assert_true(due(&soon, 1, 1, 1));
    g_assert_false(due(&late, 1, 1, 1));
    late.last -= 2e6;
    g_assert_true(due(&late, 1, 1, 1));
    every_done(&late);
    g_assert_false(due(&late, 1, 1, 1));
}

static void nothing_is_due_every_0(void)
{
    Every never[] = { of(0, UNIT_STEPS, true), of(0, UNIT_TOKENS, true), of(0, UNIT_SECONDS, true) };
    for (size_t i = 0; i < G_N_ELEMENTS(never); i++)
        g_assert_false(due(&never[i], 10, 1000, 1000));
}

/* 10 saves in the first 100 steps, 50 up to step 1000, then one every 1500. */
static void periods_of_saves_change_in_phases(void)
{
    Config config = { .data.input_length = 100,
                      .train.batch = { 10, UNIT_SAMPLES },
                      .train.save_phases = (char *)(uintptr_t) "100:10,1000:18,1500" };
    const Phases phases = phases_of(&config, 50, true);
    int64_t saves[3] = { 0 };
    for (int64_t step = 1; step <= 6000; step++) {
        const EveryCounts counts = { .steps = step };
        saves[step <= 100 ? 0 : step <= 1000 ? 1 : 2] += every_due(phases_at(&phases, &counts), &counts);
    }
    g_assert_cmpint(saves[0], ==, 10);
    g_assert_cmpint(saves[1], ==, 50);
    g_assert_cmpint(saves[2], ==, 4);
}

static void phases_by_tokens_end_in_train_save_every(void)
{
    Config config = { .data.input_length = 100,
                      .train.batch = { 10, UNIT_SAMPLES },
                      .train.save_phases = (char *)(uintptr_t) "5000 tokens:2",
                      .train.save_every = { 3, UNIT_STEPS } };
    const Phases phases = phases_of(&config, 50, true);
    for (int64_t step = 1; step <= 20; step++) {
        const EveryCounts counts = { .steps = step, .tokens = 700 * step, .step_tokens = 700 };
        g_assert_true(every_due(phases_at(&phases, &counts), &counts) == (step % (step <= 7 ? 2 : 3) == 0));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/every/steps_samples_and_epochs_are_due_at_multiples",
                    steps_samples_and_epochs_are_due_at_multiples);
    g_test_add_func("/every/tokens_are_due_where_their_count_passes_a_multiple",
                    tokens_are_due_where_their_count_passes_a_multiple);
    g_test_add_func("/every/a_time_is_due_once_it_has_passed", a_time_is_due_once_it_has_passed);
    g_test_add_func("/every/nothing_is_due_every_0", nothing_is_due_every_0);
    g_test_add_func("/every/periods_of_saves_change_in_phases", periods_of_saves_change_in_phases);
    g_test_add_func("/every/phases_by_tokens_end_in_train_save_every", phases_by_tokens_end_in_train_save_every);
    return g_test_run();
}
