#include "base/clock.h"
#include "train/services/services.h"

/* The clock of this test, in place of GLib's: microseconds since 1970. */
static gint64 clock_us;

gint64 g_get_real_time(void)
{
    return clock_us;
}

static void set_clock(const char *date)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(date, NULL);
    clock_us = g_date_time_to_unix(time) * G_USEC_PER_SEC;
}

static StopRule look(StopRules *rules)
{
    return stop_rules_look(rules, &(EveryCounts){ .steps = 1 });
}

/* A clock that is set while the run trains, or a machine that sleeps, as a laptop does. */
static void a_date_is_that_of_the_clock_as_it_is_now(void)
{
    const Config config = { .train = { .stop_date = "2026-01-31T07:30:00Z", .stop_file = "" } };
    set_clock("2026-01-31T06:00:00Z");
    StopRules rules = stop_rules_of(&config, 50, true, clock_seconds());
    g_assert_cmpint(look(&rules), ==, STOP_NONE);
    set_clock("2026-01-31T07:30:01Z");
    g_assert_cmpint(look(&rules), ==, STOP_DATE);
    set_clock("2026-01-31T05:00:00Z");
    g_assert_cmpint(look(&rules), ==, STOP_NONE);
    rules.longest_save = 3600; /* counts 1.2 times */
    g_assert_cmpint(look(&rules), ==, STOP_NONE);
    set_clock("2026-01-31T06:20:00Z");
    g_assert_cmpint(look(&rules), ==, STOP_DATE);
}

static void a_time_is_no_matter_of_the_clock(void)
{
    const Config config = { .train = { .stop_after = { 3600, UNIT_SECONDS }, .stop_file = "" } };
    set_clock("2026-01-31T06:00:00Z");
    StopRules rules = stop_rules_of(&config, 50, true, clock_seconds());
    set_clock("2036-01-31T06:00:00Z");
    g_assert_cmpint(look(&rules), ==, STOP_NONE);
    rules = stop_rules_of(&config, 50, true, clock_seconds() - 3600);
    g_assert_cmpint(look(&rules), ==, STOP_AFTER);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stop_rules/a_date_is_that_of_the_clock_as_it_is_now", a_date_is_that_of_the_clock_as_it_is_now);
    g_test_add_func("/stop_rules/a_time_is_no_matter_of_the_clock", a_time_is_no_matter_of_the_clock);
    return g_test_run();
}
