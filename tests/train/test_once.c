/* Work that ranks share: one of the ranks with the same key does it, and all have its value. */
#include "train/trainer.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

enum { RANKS = 5 };
static const char *const keys[RANKS] = { "a", "b", "a", "", "" };
static int calls[RANKS];
static uint64_t values[RANKS];

static uint64_t value_of(const void *rank)
{
    return 100 + (uint64_t)calls[*(const int *)rank]++ + 10 * (uint64_t) * (const int *)rank;
}

static void run_rank(Comm *world, void *context)
{
    (void)context;
    const int rank = comm_rank(world);
    values[rank] = ranks_once(world, keys[rank], value_of, &rank);
}

static void ranks_with_a_key_compute_once(void)
{
    static const int called[RANKS] = { 1, 1, 0, 1, 1 };
    static const uint64_t want[RANKS] = { 100, 110, 100, 130, 140 };
    comm_run_threads(RANKS, 20, run_rank, NULL);
    for (int r = 0; r < RANKS; r++) {
        g_assert_cmpint(calls[r], ==, called[r]);
        g_assert_cmpuint(values[r], ==, want[r]);
    }
}

static uint64_t slow_value(const void *unused)
{
    (void)unused;
    g_usleep(4 * G_USEC_PER_SEC);
    return 7;
}

static void run_slow_rank(Comm *world, void *context)
{
    (void)context;
    values[comm_rank(world)] = ranks_once(world, "a", slow_value, NULL);
    g_assert_true(comm_check(world, NULL));
}

/* The hash of a large model takes longer than parallel.timeout. */
static void ranks_wait_longer_than_the_timeout(void)
{
    memset(values, 0, sizeof values);
    comm_run_threads(RANKS, 3, run_slow_rank, NULL);
    for (int r = 0; r < RANKS; r++)
        g_assert_cmpuint(values[r], ==, 7);
}

static void a_path_is_known_by_any_name(void)
{
    char one[ONCE_KEY], other[ONCE_KEY];
    g_autofree char *folder = g_dir_make_tmp("once-XXXXXX", NULL), *same = g_strconcat(folder, "/.", NULL),
                    *none = g_strconcat(folder, "/none", NULL);
    once_key_of_path(one, folder);
    once_key_of_path(other, same);
    g_assert_cmpstr(one, !=, "");
    g_assert_cmpstr(one, ==, other);
    once_key_of_path(other, "/");
    g_assert_cmpstr(one, !=, other);
    once_key_of_path(other, none);
    g_assert_cmpstr(other, ==, "");
    g_rmdir(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/once/ranks_with_a_key_compute_once", ranks_with_a_key_compute_once);
    g_test_add_func("/once/ranks_wait_longer_than_the_timeout", ranks_wait_longer_than_the_timeout);
    g_test_add_func("/once/a_path_is_known_by_any_name", a_path_is_known_by_any_name);
    return g_test_run();
}
