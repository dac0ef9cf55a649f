#include "run/launch.h"

#include "base/log.h"
#include "base/machine.h"
#include "comm/launch.h"
#include "comm/mpi/mpi.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define SWITCHES 1024  /* bytes */
#define AGREE_S  600.0 /* as long does a rank without a configuration wait for the others */

static Comm *opened; /* MPI's group of all processes; NULL until it is opened */

static void close_world(void)
{
    comm_close(opened);
}

/* For processes that cannot reach each other, so that no rank 0 speaks for those of another host: the first process of
 * each host writes its error, or, if the launcher does not say which one that is, every process. */
static void speak_alone(const CommLaunch *launch, GError **error)
{
    if (launch->local_rank > 0)
        return;
    log_set_rank(0, true);
    if (launch->rank > 0)
        fail_context(error, "rank %d on %s", launch->rank, g_get_host_name());
}

/* Sets `opened`, once for the whole process. Waits until all processes of the launcher are there. */
static bool open_processes(const CommLaunch *launch, double timeout_s, GError **error)
{
    if (opened)
        return true;
    opened = comm_open_mpi(launch->size, timeout_s, error);
    if (opened == NULL) {
        fail_context(error, "%s started %d processes", launch->launcher, launch->size);
        speak_alone(launch, error);
        return false;
    }
    atexit(close_world);
    return true;
}

static bool several(const CommLaunch *launch)
{
    return launch->launcher && launch->size > 1;
}

/* Whether the user set parallel.ranks for this command; the number that a run was saved with does not count. */
static bool gives_ranks(const Config *config)
{
    return config->given && g_strv_contains((const char *const *)config->given, "parallel.ranks");
}

/* Number of ranks that are threads of this process if no launcher started several processes: parallel.ranks. If a
 * launcher started this one process, the number that a run was saved with does not count: it is 1 unless the user set
 * parallel.ranks for this command. */
static int thread_ranks(const Config *config)
{
    const CommLaunch launch = comm_launch();
    /* A shell that srun opened is a single PMIx process, too. */
    const bool launched = launch.launcher && launch.size == 1 && strcmp(launch.launcher, "PMIx") != 0;
    return launched && !gives_ranks(config) ? 1 : (int)MAX(config->parallel.ranks, 1);
}

static bool check_world_size(const Config *config, const CommLaunch *launch, GError **error)
{
    int64_t ranks = config->parallel.ranks;
    return ranks <= 0 || ranks == launch->size || !gives_ranks(config) ||
           fail_user(error,
                     "parallel.ranks is %" G_GINT64_FORMAT ", and %s started %d processes; leave parallel.ranks out, "
                     "or start loam without %s",
                     ranks, launch->launcher, launch->size, launch->launcher);
}

/* *world becomes this process's group of ranks: MPI's group, opened once and kept to the end, or comm_self(). */
static bool find_world(const Config *config, Comm **world, GError **error)
{
    const CommLaunch launch = comm_launch();
    /* CUDA maps streams to 8 hardware queues by default. Collectives of two streams in one queue wait for each other,
     * on another rank perhaps in the other order. CUDA reads it when a GPU is opened. */
    if (several(&launch) || config->parallel.ranks > 1)
        (void)g_setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", FALSE);
    *world = comm_self();
    if (!comm_launch_check(error))
        return false;
    if (!several(&launch))
        return true;
    if (!check_world_size(config, &launch, error) || !open_processes(&launch, config->parallel.timeout.value, error))
        return false;
    *world = opened;
    return true;
}

/* Whether all processes have the switches of rank 0; of longer ones only the first SWITCHES bytes are compared. */
static bool compare_switches(const char *switches, GError **error)
{
    const int ranks = comm_size(opened);
    char own[SWITCHES] = "";
    g_autofree char(*all)[SWITCHES] = g_malloc0((gsize)SWITCHES * (gsize)ranks);
    g_strlcpy(own, switches, SWITCHES);
    comm_share(opened, all, own, SWITCHES);
    for (int r = 1; comm_check(opened, error) && r < ranks; r++)
        if (strcmp(all[r], all[0]) != 0)
            return fail_user(error,
                             "rank %d was started with %s, rank 0 with %s: start all ranks with the same options", r,
                             *all[r] ? all[r] : "no --seeds, --sweep or --rehearse",
                             *all[0] ? all[0] : "no --seeds, --sweep or --rehearse");
    return comm_check(opened, error);
}

bool launch_agree(const Config *config, const char *switches, bool loaded, GError **error)
{
    const CommLaunch launch = comm_launch();
    g_autoptr(GError) unreachable = NULL;
    loaded = loaded && comm_launch_check(error);
    if (!several(&launch))
        return loaded;
    loaded = loaded && check_world_size(config, &launch, error);
    if (!loaded && launch.rank > 0)
        fail_context(error, "rank %d on %s", launch.rank, g_get_host_name());
    if (!open_processes(&launch, loaded ? config->parallel.timeout.value : AGREE_S, &unreachable)) {
        if (loaded)
            g_propagate_error(error, g_steal_pointer(&unreachable));
        return false;
    }
    return comm_agree(opened, loaded, error) && compare_switches(switches, error);
}

/* Restricts a rank that is a thread of this process to its share of the cores (cores_take), before it opens a device,
 * and makes the number of these cores OpenMP's number of threads, unless OMP_NUM_THREADS is set. If cores_take leaves
 * the cores as they are, that number is an equal share of OpenMP's threads, at least one. A device that is opened with
 * train.threads uses that number instead. */
static void place_rank(const Comm *ranks)
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
    place_rank(ranks);
    threads->fn(ranks, threads->context, &threads->errors[comm_rank(ranks)]);
}

static bool run_threads(const Config *config, LaunchFn fn, const void *context, GError **error)
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
    return first == NULL || fail_with(error, first);
}

bool launch_ranks(const Config *config, LaunchFn fn, const void *context, GError **error)
{
    Comm *world = NULL;
    if (!find_world(config, &world, error))
        return false;
    return comm_size(world) == 1 && thread_ranks(config) > 1 ? run_threads(config, fn, context, error)
                                                             : fn(world, context, error);
}

void launch_speak(void)
{
    const CommLaunch launch = comm_launch();
    if (launch.launcher && launch.size > 1) /* a rank that cannot be has no rank 0 that would speak for it */
        log_set_rank(launch.rank < launch.size ? launch.rank : 0, true);
}
