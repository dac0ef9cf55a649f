/* env.c: `loam env`: the machine, the libraries and the build, for bug reports. */
#include "base/machine.h"
#include "cli/cli.h"
#include "comm/launch.h"
#include "comm/mpi/mpi.h"
#include "comm/nccl/nccl.h"
#include "device/cuda/cuda.h"
#include "run/compute_device.h"

#include <dnnl_version.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char about[] =
    "Prints versions, processor, GPUs, threads, libraries and launcher: what to paste into a bug report.\n\n"
    "  loam env\n";

static gboolean as_json;
static const GOptionEntry entries[] = {
    CLI_SWITCH("json", as_json, "one JSON object"),
    { 0 },
};

static void add_env_text(json_t *object, const char *name, char *text)
{
    json_object_set_new(object, name, json_string(text));
    g_free(text);
}

static char *describe_gpu(const CudaGpu *gpu)
{
    const char *mode = gpu->refuses     ? "prohibited, so no program may use it (nvidia-smi -c DEFAULT)"
                       : gpu->exclusive ? "exclusive, so one process may use it"
                                        : "default";
    return g_strdup_printf("%s, %zu MiB, compute capability %d.%d, %scompute mode %s", gpu->name, gpu->memory >> 20,
                           gpu->compute / 10, gpu->compute % 10, gpu->slice ? "a slice of a GPU by MIG, " : "", mode);
}

/* Adds the versions of CUDA and a line for each GPU, or the reason why no GPU can be used. */
static void add_gpus(json_t *object)
{
    char why[CUDA_WHY];
    int n;
    if (!cuda_gpus(&n, why))
        return add_env_text(object, "gpu", g_strdup_printf("none is used: %s", why));
    if (cuda_versions(why))
        add_env_text(object, "cuda", g_strdup(why));
    for (int i = 0; i < n; i++) {
        CudaGpu gpu;
        char name[32] = "gpu";
        if (n > 1)
            g_snprintf(name, sizeof name, "gpu %d", i);
        add_env_text(object, name,
                     cuda_describe(i, &gpu, why) ? describe_gpu(&gpu) : g_strdup_printf("not used: %s", why));
    }
}

/* Adds how ranks of a run communicate, and whether a launcher started this process. */
static void add_ranks(json_t *object)
{
    g_autoptr(GError) no_nccl = NULL;
    g_autoptr(GError) no_mpi = NULL;
    char *nccl = comm_nccl_version(&no_nccl);
    const char *mpi = comm_mpi_name(&no_mpi);
    const CommLaunch launch = comm_launch();
    add_env_text(object, "nccl", nccl ? nccl : g_strdup_printf("none is found: %s", no_nccl->message));
    add_env_text(object, "mpi", mpi ? g_strdup(mpi) : g_strdup_printf("none is used: %s", no_mpi->message));
    g_autofree char *of = launch.size > 0 ? g_strdup_printf(" of %d", launch.size) : g_strdup("");
    add_env_text(object, "launcher",
                 launch.launcher ? g_strdup_printf("%s: rank %d%s", launch.launcher, launch.rank, of)
                                 : g_strdup("none"));
}

static json_t *describe_machine(void)
{
    struct utsname system;
    uname(&system);
    g_autofree char *cpu = machine_processor();
    g_autofree char *os = g_strdup_printf("%s %s %s", system.sysname, system.release, system.machine);
    g_autofree char *onednn = g_strdup_printf("%d.%d.%d", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
    g_autofree char *glib = g_strdup_printf("%u.%u.%u", glib_major_version, glib_minor_version, glib_micro_version);
    long memory = sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024);
    g_autoptr(Device) dev = device_open_cpu(0, precision_uniform(DT_F32));
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:s, s:s, s:s}", "loam", LOAM_VERSION, "system", os, "processor",
                  cpu, "isa", dev->isa, "threads", dev->threads, "numa_nodes", cores_nodes(), "memory_mib",
                  (json_int_t)memory, "onednn", onednn, "glib", glib, "jansson", JANSSON_VERSION);
    add_gpus(object);
    add_ranks(object);
    return object;
}

bool verb_env(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, "loam env [--json]", about, error))
        return false;
    if (argc > 1)
        return fail_user(error, "%s is not an option; usage: loam env [--json]", argv[1]);
    json_t *object = describe_machine();
    const char *name;
    json_t *value;
    if (as_json)
        return print_json_line(object, error);
    json_object_foreach(object, name, value) if (json_is_string(value))
        printf("%-11s %s\n", name, json_string_value(value));
    else printf("%-11s %lld\n", name, (long long)json_integer_value(value));
    json_decref(object);
    return true;
}
