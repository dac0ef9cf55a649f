/* Ranks that are threads: the checks that every backend passes, and what happens when one fails. */
#include "comm/backend.h"
#include "comm/collectives.h"

/* Rank 1 does not come to the second collective; the others end with its number. Only rank 0 has a short timeout: it
 * names the first rank that is missing, so it does not matter how late rank 2 is. */
static void check_timeout(Comm *comm, void *context)
{
    g_autoptr(GError) error = NULL;
    (void)context;
    g_assert_true(comm_check(comm, &error));
    comm_barrier(comm);
    if (comm_rank(comm) == 1)
        return;
    if (comm_rank(comm) == 0)
        comm->timeout_s = 0.2;
    comm_barrier(comm);
    g_assert_false(comm_check(comm, &error));
    g_assert_nonnull(strstr(error->message, "rank 1 did not join"));
    comm_barrier(comm); /* returns at once */
}

static void a_rank_that_does_not_come__is_named(void)
{
    comm_run_threads(3, 600, check_timeout, NULL);
}

static void check_abort(Comm *comm, void *context)
{
    g_autoptr(GError) error = NULL;
    (void)context;
    if (comm_rank(comm) == 2)
        comm_abort(comm, "rank 2: disk full");
    else
        comm_barrier(comm);
    g_assert_false(comm_check(comm, &error));
    g_assert_cmpstr(error->message, ==, "rank 2: disk full");
    g_assert_cmpint(error->code, ==, LOAM_ERROR_MACHINE);
}

static void abort__ends_what_the_others_wait_for(void)
{
    comm_run_threads(3, 30, check_abort, NULL);
}

/* A check on groups of 1 to 5 ranks. */
static void run_check(const void *data)
{
    for (int size = 1; size <= 5; size++)
        comm_run_threads(size, 30, *(const CommRankFn *)data, NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(collective_checks); i++) {
        g_autofree char *path = g_strdup_printf("/%s", collective_checks[i].name);
        g_test_add_data_func(path, &collective_checks[i].check, run_check);
    }
    g_test_add_func("/a_rank_that_does_not_come__is_named", a_rank_that_does_not_come__is_named);
    g_test_add_func("/abort__ends_what_the_others_wait_for", abort__ends_what_the_others_wait_for);
    return g_test_run();
}
