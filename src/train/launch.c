#include "train/launch.h"

#include "base/cores.h"
#include "base/log.h"
#include "comm/launch.h"
#include "comm/mpi/mpi.h"

#include <omp.h>
#include <stdlib.h>

static Comm *opened; /* MPI's group of all processes; NULL until it is opened */

static void close_world(void)
{
    comm_close(opened);
}

bool launch_world(const Config *config, Comm **world, GError **error)
{
    const CommLaunch launch = comm_launch();
    int64_t ranks = config->parallel.ranks;
    *world = comm_self();
    if (launch.launcher == NULL || launch.size < 2)
        return true;
    if (ranks > 0 && ranks != launch.size)
        return fail_user(error,
                         "parallel.ranks is %" G_GINT64_FORMAT ", and %s started %d processes; leave parallel.ranks "
                         "out, or start loam without %s",
                         ranks, launch.launcher, launch.size, launch.launcher);
    if (opened == NULL) {
        opened = comm_open_mpi(launch.size, config->parallel.timeout.value, error);
        if (opened == NULL)
            return fail_context(error, "%s started %d processes", launch.launcher, launch.size);
        atexit(close_world);
    }
    *world = opened;
    return true;
}

void launch_place(const Comm *ranks)
{
    const int cores = cores_take(comm_rank(ranks), comm_size(ranks));
    if (!g_getenv("OMP_NUM_THREADS"))
        omp_set_num_threads(MAX(cores, MAX(1, omp_get_max_threads() / comm_size(ranks))));
}

typedef struct Threads {
    LaunchFn fn;
    const void *context;
    GError **errors; /* (ranks) */
} Threads;

static void run_thread(Comm *ranks, void *context)
{
    const Threads *threads = context;
    launch_place(ranks);
    threads->fn(ranks, threads->context, &threads->errors[comm_rank(ranks)]);
}

bool launch_threads(const Config *config, LaunchFn fn, const void *context, GError **error)
{
    const int n = (int)config->parallel.ranks;
    g_autofree GError **errors = g_new0(GError *, n);
    Threads threads = { fn, context, errors };
    comm_run_threads(n, config->parallel.timeout.value, run_thread, &threads);
    GError *first = NULL;
    for (int r = n - 1; r >= 0; r--)
        if (errors[r]) {
            g_clear_error(&first);
            first = errors[r];
        }
    if (first)
        g_propagate_error(error, first);
    return first == NULL;
}

bool launch_ranks(const Config *config, LaunchFn fn, const void *context, GError **error)
{
    Comm *world = NULL;
    if (!launch_world(config, &world, error))
        return false;
    return comm_size(world) == 1 && config->parallel.ranks > 1 ? launch_threads(config, fn, context, error)
                                                               : fn(world, context, error);
}

void launch_speak(void)
{
    const CommLaunch launch = comm_launch();
    if (launch.launcher && launch.size > 1)
        log_set_rank(launch.rank, true);
}
