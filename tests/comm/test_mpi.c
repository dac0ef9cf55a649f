/* Ranks that are processes. The program starts itself again under mpirun, with three ranks; each of them prints nothing
 * unless a check fails. Argument: where mpirun's ranks look for loam-mpi.so. */
#include "comm/collectives.h"
#include "comm/mpi/mpi.h"

#include <stdlib.h>
#include <unistd.h>

static Comm *world;

static void run_check(const void *data)
{
    (*(const CommRankFn *)data)(world, NULL);
}

/* Rank 1 gives up while the others wait for it. */
static void abort__ends_what_the_others_wait_for(void)
{
    g_autoptr(GError) error = NULL;
    Comm *all = comm_split(world, 0);
    if (comm_rank(all) == 1)
        comm_abort(all, "rank 1: disk full");
    else
        comm_barrier(all);
    g_assert_false(comm_check(all, &error));
    g_assert_cmpstr(error->message, ==, "rank 1: disk full");
    comm_barrier(world);
    comm_close(all);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    if (!getenv("OMPI_COMM_WORLD_SIZE")) {
        execlp("mpirun", "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", "3", argv[0],
               NULL);
        return 77; /* no mpirun: the test is skipped */
    }
    g_test_init(&argc, &argv, NULL);
    world = comm_open_mpi(3, 30, &error);
    g_assert_no_error(error);
    for (size_t i = 0; i < G_N_ELEMENTS(collective_checks); i++) {
        g_autofree char *path = g_strdup_printf("/%s", collective_checks[i].name);
        g_test_add_data_func(path, &collective_checks[i].check, run_check);
    }
    g_test_add_func("/abort__ends_what_the_others_wait_for", abort__ends_what_the_others_wait_for);
    int status = g_test_run();
    comm_close(world);
    return status;
}
