#include "train/compute_device.h"

#include "base/error.h"
#include "base/log.h"
#include "device/cuda/cuda.h"

#include <omp.h>
#include <sched.h>
#include <string.h>

static Device *open_cpu(int threads, Precision precision)
{
    /* With "auto" the precision may have been chosen for a GPU; the CPU does not use these settings. */
    precision.fp8_bytes = precision.large_chunks = precision.tf32 = precision.offload = false;
    Device *dev = device_open_cpu(threads, precision);
    cpu_set_t allowed; /* the cores that taskset, Slurm or a container allow this process; g_get_num_processors counts
                          all cores */
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && dev->threads > CPU_COUNT(&allowed))
        log_warning("%d compute threads on %d cores slow each other down; train.threads or OMP_NUM_THREADS sets them",
                    dev->threads, CPU_COUNT(&allowed));
    return dev;
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
    static bool tried, opens;
    char why[CUDA_WHY];
    if (!tried) {
        Device *dev = device_open_cuda(0, precision_uniform(DT_F32), why);
        tried = true;
        opens = dev != NULL;
        device_close(dev);
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

Device *compute_device_open(const char *name, int threads, Precision precision, GError **error)
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
    fail_machine(error, "device %s: %s", name, why);
    return NULL;
}

char *compute_device_describe(const Device *dev, const char *precision)
{
    if (*dev->gpu.name)
        return g_strdup_printf("%s (%s:%d, %s)", dev->gpu.name, dev->name, dev->gpu.index, precision);
    return g_strdup_printf("%s on %d threads (%s, %s)", dev->name, dev->threads, dev->isa, precision);
}
