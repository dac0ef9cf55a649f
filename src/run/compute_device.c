#include "run/compute_device.h"

#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "device/cuda/cuda.h"

#include <omp.h>
#include <sched.h>
#include <string.h>

static Device *open_cpu(int threads, Precision precision)
{
    /* With "auto" the precision may have been chosen for a GPU; the CPU does not use these settings. */
    precision.fp8_bytes = precision.large_chunks = precision.tf32 = precision.offload = false;
    return device_open_cpu(threads, precision);
}

/* Warns if the compute threads of the ranks of one host, in all, are more than the cores that they may use. Returns
 * whether it did. cores 0 means unknown. */
static bool warn_of_threads(int64_t threads, int ranks, int cores)
{
    g_autofree char *of = ranks > 1 ? g_strdup_printf(" of %d ranks", ranks) : g_strdup("");
    if (cores == 0 || threads <= cores)
        return false;
    log_warning("%" G_GINT64_FORMAT " compute threads%s on %d core%s slow each other down; train.threads or "
                "OMP_NUM_THREADS sets them%s",
                threads, of, cores, cores == 1 ? "" : "s", ranks > 1 ? " for each rank" : "");
    return true;
}

static Device *open_cuda(int index, int threads, Precision precision, char *why)
{
    Device *dev = device_open_cuda(index, precision, why);
    if (dev)
        dev->threads = MIN(threads > 0 ? threads : omp_get_max_threads(), omp_get_thread_limit());
    return dev;
}

typedef enum DeviceChoice { CHOICE_AUTO, CHOICE_CPU, CHOICE_CUDA, CHOICE_UNKNOWN } DeviceChoice;

static DeviceChoice choice_of(const char *name, int *index)
{
    *index = 0;
    if (name == NULL || strcmp(name, "cpu") == 0)
        return CHOICE_CPU;
    if (strcmp(name, "auto") == 0)
        return CHOICE_AUTO;
    if (strcmp(name, "cuda") == 0)
        return CHOICE_CUDA;
    guint64 number;
    if (!g_str_has_prefix(name, "cuda:") || !g_ascii_string_to_unsigned(name + 5, 10, 0, 1023, &number, NULL))
        return CHOICE_UNKNOWN;
    *index = (int)number;
    return CHOICE_CUDA;
}

bool compute_device_check(const char *name, GError **error)
{
    int index;
    return choice_of(name, &index) != CHOICE_UNKNOWN ||
           fail_user(error, "device \"%s\" is unknown, want auto, cpu, cuda or cuda:N", name);
}

/* Whether "auto" tries a GPU: there is an NVIDIA driver, and CUDA_VISIBLE_DEVICES does not hide all GPUs. */
static bool has_driver(void)
{
    const char *seen = g_getenv("CUDA_VISIBLE_DEVICES");
    return cuda_has_driver() && (seen == NULL || (*seen != '\0' && strcmp(seen, "-1") != 0));
}

/* Whether GPU 0 can be opened; tried only once. A GPU that the driver lists may be in exclusive use by another program,
 * or of an architecture that the backend was not compiled for. */
static bool first_gpu_opens(void)
{
    static GMutex lock; /* ranks may be threads */
    static bool tried, opens;
    char why[CUDA_WHY];
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&lock);
    if (!tried) {
        g_autoptr(Device) dev = device_open_cuda(0, precision_uniform(DT_F32), why);
        tried = true;
        opens = dev != NULL;
    }
    return opens;
}

bool compute_device_is_gpu(const char *name)
{
    int index;
    DeviceChoice choice = choice_of(name, &index);
    return choice == CHOICE_CUDA || (choice == CHOICE_AUTO && has_driver() && first_gpu_opens());
}

bool compute_device_has_fp8(const char *name, char *why)
{
    enum { LEAST = 89 };
    CudaGpu gpu;
    int index;
    (void)choice_of(name, &index);
    if (!compute_device_is_gpu(name) || !cuda_describe(index, &gpu, why) || gpu.compute >= LEAST)
        return true;
    (void)g_snprintf(why, CUDA_WHY, "%.60s has compute capability %d.%d, FP8 products need 8.9 or more", gpu.name,
                     gpu.compute / 10, gpu.compute % 10);
    return false;
}

static Device *open_device(const char *name, int threads, Precision precision, GError **error)
{
    char why[CUDA_WHY];
    int index;
    if (!compute_device_check(name, error))
        return NULL;
    DeviceChoice choice = choice_of(name, &index);
    Device *dev = choice == CHOICE_CUDA || (choice == CHOICE_AUTO && has_driver())
                      ? open_cuda(index, threads, precision, why)
                      : NULL;
    if (dev || choice == CHOICE_CPU || (choice == CHOICE_AUTO && !has_driver()))
        return dev ? dev : open_cpu(threads, precision);
    if (choice == CHOICE_AUTO) {
        log_warning("computing on the CPU: %s", why);
        return open_cpu(threads, precision);
    }
    return fail_machine(error, "device %s: %s", name, why);
}

void compute_device_check_threads(int threads, int ranks)
{
    cpu_set_t allowed; /* the cores that taskset, Slurm or a container allow this process; g_get_num_processors counts
                          all cores */
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        warn_of_threads((int64_t)threads * ranks, ranks, CPU_COUNT(&allowed));
}

int compute_device_all_threads(int threads, int ranks)
{
    cpu_set_t allowed;
    const int64_t all = (int64_t)threads * ranks;
    const int cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : threads;
    return (int)MIN(all, MAX(cores, threads));
}

Device *compute_device_open(const char *name, int threads, Precision precision, GError **error)
{
    Device *dev = open_device(name, threads, precision, error);
    if (dev && *dev->gpu.name == '\0')
        compute_device_check_threads(dev->threads, 1);
    return dev;
}

/* ---- ranks ---- */

/* Number of lower ranks on the host of this rank. */
static int locals_before(Comm *ranks)
{
    const int size = comm_size(ranks), rank = comm_rank(ranks);
    g_autofree char *boots = g_new0(char, size *MACHINE_BOOT_ID);
    char own[MACHINE_BOOT_ID];
    machine_boot_id(own);
    comm_share(ranks, boots, own, sizeof own);
    int before = 0;
    for (int r = 0; r < rank; r++)
        before += memcmp(boots + (size_t)r * MACHINE_BOOT_ID, own, sizeof own) == 0;
    return before;
}

/* The compute threads of a rank, and the cores that it may use. */
typedef struct RankThreads {
    char boot[MACHINE_BOOT_ID];
    int threads; /* 0 means that the rank computes on a GPU */
    cpu_set_t cores;
} RankThreads;

/* Rank 0 warns of the first host whose ranks have more compute threads than cores. */
static void compare_threads(const RankThreads *all, int size)
{
    for (int r = 0, warned = 0; r < size && !warned; r++) {
        int n = 0, threads = 0;
        cpu_set_t cores;
        CPU_ZERO(&cores);
        for (int s = 0; s < size; s++)
            if (all[s].threads > 0 && memcmp(all[s].boot, all[r].boot, MACHINE_BOOT_ID) == 0) {
                n++;
                threads += all[s].threads;
                CPU_OR(&cores, &cores, &all[s].cores);
            }
        warned = warn_of_threads(threads, n, CPU_COUNT(&cores));
    }
}

/* Either all ranks have opened a GPU, or none has. */
static bool compare_devices(Comm *ranks, const Device *dev, GError **error)
{
    const int size = comm_size(ranks);
    RankThreads own = { .threads = *dev->gpu.name ? 0 : dev->threads };
    g_autofree RankThreads *all = g_new0(RankThreads, size);
    machine_boot_id(own.boot);
    (void)sched_getaffinity(0, sizeof own.cores, &own.cores);
    comm_share(ranks, all, &own, sizeof own);
    if (!comm_check(ranks, error))
        return false;
    for (int r = 1; r < size; r++)
        if ((all[r].threads == 0) != (all[0].threads == 0))
            return fail_machine(error,
                                "rank %d computes on the CPU and rank %d on a GPU: all ranks must do the same; "
                                "train.device=cuda says why one has no GPU, train.device=cpu needs none",
                                all[0].threads == 0 ? r : 0, all[0].threads == 0 ? 0 : r);
    if (comm_rank(ranks) == 0)
        compare_threads(all, size);
    return true;
}

/* The GPU that a rank is going to open, or has opened. */
typedef struct RankGpu {
    bool there; /* false: the rank computes on the CPU, or its GPU cannot be used */
    char uuid[sizeof((CudaGpu *)0)->uuid], name[64], host[64];
    int index, gpus; /* gpus: how many the rank sees */
} RankGpu;

/* "cuda:3" for a rank that takes its host's GPUs in turn; `name` for another choice, or if no GPU is found. g_free. */
static char *device_of_rank(const char *name, Comm *ranks)
{
    CudaGpu gpu;
    char why[CUDA_WHY];
    int index, n = 0;
    const DeviceChoice choice = choice_of(name, &index);
    const int before = locals_before(ranks);
    const bool turns = choice == CHOICE_CUDA ? strcmp(name, "cuda") == 0 : choice == CHOICE_AUTO && has_driver();
    const bool found = turns && cuda_gpus(&n, why) && cuda_describe(before % n, &gpu, why);
    return found ? g_strdup_printf("cuda:%d", before % n) : g_strdup(name);
}

static RankGpu gpu_of_rank(const char *chosen)
{
    CudaGpu gpu;
    char why[CUDA_WHY];
    RankGpu own = { 0 };
    if (choice_of(chosen, &own.index) != CHOICE_CUDA || !cuda_gpus(&own.gpus, why) || own.index >= own.gpus ||
        !cuda_describe(own.index, &gpu, why))
        return own;
    own.there = true;
    memcpy(own.uuid, gpu.uuid, sizeof own.uuid);
    g_strlcpy(own.name, gpu.name, sizeof own.name);
    g_strlcpy(own.host, g_get_host_name(), sizeof own.host);
    return own;
}

/* Ranks s and r have the same GPU. name: train.device. */
static bool fail_shared(const char *name, int s, int r, const RankGpu *gpu, GError **error)
{
    if (g_str_has_prefix(name, "cuda:"))
        return fail_user(
            error,
            "ranks %d and %d would compute on the same GPU, %s (cuda:%d of %s): train.device=%s is one GPU "
            "for all ranks, want train.device=cuda, which gives each rank of a host its own",
            s, r, gpu->name, gpu->index, gpu->host, name);
    return fail_user(
        error,
        "ranks %d and %d would compute on the same GPU, %s (cuda:%d of %s): each rank needs its own, and a "
        "rank sees %d there; want at most so many ranks on that host (parallel.ranks, or the launcher's "
        "processes per host), or train.device=cpu",
        s, r, gpu->name, gpu->index, gpu->host, gpu->gpus);
}

/* No two ranks have the same GPU. name: train.device; chosen: that of this rank. */
static bool check_own_gpus(Comm *ranks, const char *name, const char *chosen, GError **error)
{
    const int size = comm_size(ranks);
    const RankGpu own = gpu_of_rank(chosen);
    g_autofree RankGpu *all = g_new0(RankGpu, size);
    comm_share(ranks, all, &own, sizeof own);
    if (!comm_check(ranks, error))
        return false;
    for (int r = 0; r < size; r++)
        for (int s = 0; s < r && all[r].there; s++)
            if (all[s].there && memcmp(all[r].uuid, all[s].uuid, sizeof all[r].uuid) == 0)
                return fail_shared(name, s, r, &all[r], error);
    return true;
}

Device *compute_device_open_rank(const char *name, int threads, Precision precision, Comm *ranks, GError **error)
{
    if (comm_size(ranks) == 1)
        return compute_device_open(name, threads, precision, error);
    g_autofree char *chosen = device_of_rank(name, ranks);
    if (!check_own_gpus(ranks, name, chosen, error))
        return NULL;
    Device *dev = open_device(chosen, threads, precision, error);
    if (!comm_agree(ranks, dev != NULL, error) || !compare_devices(ranks, dev, error))
        g_clear_pointer(&dev, device_close);
    return dev;
}

char *compute_device_describe(const Device *dev, const char *precision)
{
    if (*dev->gpu.name)
        return g_strdup_printf("%s (%s:%d, %s)", dev->gpu.name, dev->name, dev->gpu.index, precision);
    g_autofree char *threads = text_counted(dev->threads, "thread");
    return g_strdup_printf("%s on %s (%s, %s)", dev->name, threads, dev->isa, precision);
}
