/* open.c: finds loam-cuda.so and the driver, and reports why no GPU can be used. */
#include "device/cuda/backend.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "loam-cuda.so"
#define DRIVER    "libcuda.so.1"

static bool refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, CUDA_WHY, format, arguments);
    va_end(arguments);
    return false;
}

bool cuda_has_driver(void)
{
    return dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL) != NULL;
}

/* A driver runs what was built for its CUDA, for an earlier one, and for a later one of the same major version. */
static bool check_driver(const CudaBackend *backend, char *why)
{
    void *driver = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
    int (*version_of)(int *) = NULL;
    *(void **)&version_of = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
    int version = 0;
    if (version_of == NULL || version_of(&version) != 0)
        return refuse(why, "%s does not tell its version", DRIVER);
    if (version / 1000 < backend->cuda / 1000)
        return refuse(why, "the NVIDIA driver is for CUDA %d.%d, " FILE_NAME " needs one for %d.0 or later",
                      version / 1000, version % 1000 / 10, backend->cuda / 1000);
    return true;
}

/* Looks beside the program, and in ../lib/loam for an installed program; false if there is none. */
static bool find_file(char *path, size_t room)
{
    static const char *const places[] = { FILE_NAME, "../lib/loam/" FILE_NAME };
    char folder[PATH_MAX];
    const char *named = getenv("LOAM_CUDA_BACKEND");
    if (named && *named != '\0')
        return snprintf(path, room, "%s", named) < (int)room;
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (n <= 0)
        return false;
    folder[n] = '\0';
    char *end = strrchr(folder, '/');
    if (end)
        *end = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(path, room, "%s/%s", folder, places[i]) < (int)room && access(path, R_OK) == 0)
            return true;
    return false;
}

/* Whether the program and the file were compiled from the same headers. */
static bool is_of_this_build(const CudaBackend *backend)
{
    static const size_t sizes[] = CUDA_SIZES;
    _Static_assert(sizeof sizes == sizeof backend->sizes, "CudaBackend.sizes are as many as CUDA_SIZES");
    return backend->size == sizeof *backend && strcmp(backend->signature, cuda_signature) == 0 &&
           memcmp(backend->sizes, sizes, sizeof sizes) == 0;
}

static const CudaBackend *load(char *why)
{
    char path[PATH_MAX + 64];
    const CudaBackend *(*entry)(void) = NULL;
    if (!find_file(path, sizeof path)) {
        refuse(why, "there is no " FILE_NAME " beside the program: it is built where CUDA's nvcc is");
        return NULL;
    }
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (file == NULL) {
        const char *text = dlerror();
        refuse(why, FILE_NAME " cannot be opened: %s", text ? text : path);
        return NULL;
    }
    *(void **)&entry = dlsym(file, CUDA_BACKEND_ENTRY);
    const CudaBackend *backend = entry ? entry() : NULL;
    if (backend == NULL || !is_of_this_build(backend)) {
        refuse(why, "%s is of another build of loam", path);
        return NULL;
    }
    return backend;
}

/* What open_backend found: backend is NULL if there is a reason why no GPU can be used. */
static struct {
    const CudaBackend *backend;
    char reason[CUDA_WHY];
} opened;

static void open_backend(void)
{
    if (!cuda_has_driver()) {
        refuse(opened.reason, "there is no NVIDIA driver (" DRIVER ")");
        return;
    }
    const CudaBackend *backend = load(opened.reason);
    if (backend && check_driver(backend, opened.reason))
        opened.backend = backend;
}

/* Opens the backend once, whichever thread asks first; NULL with the reason. */
static const CudaBackend *backend_of(char *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_backend);
    if (opened.backend == NULL)
        refuse(why, "%s", opened.reason);
    return opened.backend;
}

bool cuda_gpus(int *n, char *why)
{
    const CudaBackend *backend = backend_of(why);
    *n = 0;
    if (backend == NULL || !backend->count(n, why))
        return false;
    return *n > 0 || refuse(why, "the driver finds no GPU");
}

bool cuda_describe(int index, CudaGpu *gpu, char *why)
{
    const CudaBackend *backend = backend_of(why);
    if (backend == NULL || !backend->describe(index, gpu, why))
        return false;
    return gpu->compute >= backend->least_compute ||
           refuse(why, "%s has compute capability %d.%d, " FILE_NAME " is for %d.%d and later", gpu->name,
                  gpu->compute / 10, gpu->compute % 10, backend->least_compute / 10, backend->least_compute % 10);
}

Device *device_open_cuda(int index, Precision precision, char *why)
{
    int n;
    CudaGpu gpu;
    precision.fp8_bytes = precision.large_chunks = true;
    if (!cuda_gpus(&n, why))
        return NULL;
    if (index >= n) {
        refuse(why, "there is no GPU %d: the driver finds %d", index, n);
        return NULL;
    }
    const CudaBackend *backend = backend_of(why);
    void *impl = backend && cuda_describe(index, &gpu, why) ? backend->open(index, why) : NULL;
    if (impl == NULL)
        return NULL;
    Device *dev = device_new("cuda", backend->ops, precision, true, 1, "cuda", impl);
    dev->gpu = (DeviceGpu){ .index = index, .head_dim = backend->head_dim };
    snprintf(dev->gpu.name, sizeof dev->gpu.name, "%.63s", gpu.name);
    dev->isa = dev->gpu.name;
    return dev;
}

bool cuda_reserve(Device *dev, size_t bytes)
{
    char why[CUDA_WHY];
    const CudaBackend *backend = *dev->gpu.name ? backend_of(why) : NULL;
    return backend == NULL || backend->reserve(dev, bytes);
}
