/* Loss spikes: a loss is compared with those of the last train.spike_window steps, and with no earlier one. */
#include "train/services/services.h"

#include <glib.h>
#include <math.h>

static const TrainConfig train = { .spike = 4, .spike_window = 100 };

/* Losses of 3 ± 0.05. */
static void level_off(TrainState *state, int steps)
{
    for (int i = 0; i < steps; i++)
        spike_count(state, &train, i % 2 ? 3.05 : 2.95);
}

/* The fall of the loss from 10 to 3 is in no deviation a window later. */
static void the_first_fall_is_forgotten_after_a_window(void)
{
    TrainState state = { 0 };
    for (int i = 0; i < 100; i++)
        spike_count(&state, &train, 10);
    level_off(&state, 99);
    g_assert_false(spike_is(&state, &train, 3.3));
    level_off(&state, 1);
    g_assert_true(spike_is(&state, &train, 3.21));
    g_assert_false(spike_is(&state, &train, 3.19));
}

static void there_is_no_spike_before_a_window(void)
{
    TrainState state = { 0 };
    level_off(&state, 99);
    g_assert_false(spike_is(&state, &train, 1000));
    level_off(&state, 1);
    g_assert_true(spike_is(&state, &train, 1000));
}

/* A longer window, which earlier versions of loam had, is one of as many losses as a checkpoint keeps. */
static void a_long_window_is_that_of_the_losses_kept(void)
{
    const TrainConfig longer = { .spike = 4, .spike_window = 5000 };
    TrainState state = { 0 };
    for (int i = 0; i < 2 * CHECKPOINT_RECENT_LOSSES; i++) {
        g_assert_cmpint(spike_is(&state, &longer, 1000), ==, i >= CHECKPOINT_RECENT_LOSSES);
        spike_count(&state, &longer, i % 2 ? 3.05 : 2.95);
    }
    g_assert_cmpint(state.spike_losses, ==, CHECKPOINT_RECENT_LOSSES);
}

/* A spike of any height raises the mean by no more than the threshold does. A loss that is not finite is left out. */
static void a_spike_does_not_hide_the_next(void)
{
    TrainState state = { 0 };
    level_off(&state, 100);
    spike_count(&state, &train, 1000);
    spike_count(&state, &train, (double)NAN);
    spike_count(&state, &train, (double)INFINITY);
    g_assert_true(spike_is(&state, &train, 3.3));
}

/* A loss that stays high is one that the mean follows. */
static void a_lasting_rise_is_no_spike_for_ever(void)
{
    TrainState state = { 0 };
    int spikes = 0;
    level_off(&state, 100);
    for (int i = 0; i < 300; i++) {
        spikes += spike_is(&state, &train, 6);
        spike_count(&state, &train, 6);
    }
    g_assert_cmpint(spikes, >, 0);
    g_assert_cmpint(spikes, <, 100);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/the_first_fall_is_forgotten_after_a_window", the_first_fall_is_forgotten_after_a_window);
    g_test_add_func("/there_is_no_spike_before_a_window", there_is_no_spike_before_a_window);
    g_test_add_func("/a_long_window_is_that_of_the_losses_kept", a_long_window_is_that_of_the_losses_kept);
    g_test_add_func("/a_spike_does_not_hide_the_next", a_spike_does_not_hide_the_next);
    g_test_add_func("/a_lasting_rise_is_no_spike_for_ever", a_lasting_rise_is_no_spike_for_ever);
    return g_test_run();
}
