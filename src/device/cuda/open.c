/* open.c: finds loam-cuda.so and the driver, and reports why no GPU can be used. */
#include "device/cuda/backend.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "loam-cuda.so"
#define DRIVER    "libcuda.so.1"
/* Folder of NVIDIA's packages cuda-compat: a later driver for programs, which runs on the older one of the machine. */
#define COMPAT "/usr/local/cuda/compat"
/* Name of cuBLASLt, before the major version of CUDA, and one of its folders. */
#define CUBLASLT  "libcublasLt.so."
#define LIBRARIES "/usr/local/cuda/lib64"

/* Writes the reason, and returns NULL. */
__attribute__((format(printf, 2, 3))) static void *refuse(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, CUDA_WHY, format, arguments);
    va_end(arguments);
    return NULL;
}

/* The end of a text that is too long for `why`: of a path the name, of a message the reason. */
static const char *end_of(const char *text)
{
    enum { MOST = CUDA_WHY - 150 };
    const size_t n = strlen(text);
    if (n > MOST)
        for (text += n - MOST; (*text & 0xC0) == 0x80;) /* within a character of UTF-8 */
            text++;
    return text;
}

/* The driver: its library, NULL if there is none, and the version of CUDA that it is for, 13000 for 13.0. own is the
 * version of the machine's driver, and folder that of cuda-compat; 0 and "" if cuda-compat is not used. */
static struct {
    void *library;
    int version, own;
    char folder[PATH_MAX];
} driver;

static bool has_driver;

static void open_driver(void)
{
    driver.library = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
    has_driver = driver.library != NULL;
}

bool cuda_has_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_driver);
    return has_driver;
}

/* 0: it does not tell. */
static int version_of(void *library)
{
    int (*get_version)(int *) = NULL;
    int version = 0;
    *(void **)&get_version = dlsym(library, "cuDriverGetVersion");
    return get_version && get_version(&version) == 0 ? version : 0;
}

/* Puts the driver of cuda-compat, if there is one for a late enough CUDA, in place of the machine's. CUDA's runtime
 * opens the driver by its name, and gets the library of this name that is loaded already, so the machine's must be
 * closed first. False if that is not possible; then `why` says what the user can do. */
static bool use_compat(int major, char *why)
{
    const char *named = getenv("LOAM_CUDA_COMPAT");
    char path[PATH_MAX + 64];
    snprintf(driver.folder, sizeof driver.folder, "%s", named ? named : COMPAT);
    snprintf(path, sizeof path, "%s/" DRIVER, driver.folder);
    if (access(path, R_OK) != 0)
        return refuse(why,
                      "; NVIDIA's package cuda-compat in " COMPAT
                      ", or in the folder LOAM_CUDA_COMPAT, is enough, or a "
                      "build with nvcc of CUDA %d",
                      driver.version / 1000);
    dlclose(driver.library);
    driver.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (driver.library == NULL)
        return refuse(why, "; %s cannot be opened", path);
    const int version = version_of(driver.library);
    if (version / 1000 < major)
        return refuse(why, "; that in %s is for CUDA %d.%d", driver.folder, version / 1000, version % 1000 / 10);
    if (dlopen(DRIVER, RTLD_NOW | RTLD_NOLOAD) != driver.library)
        return refuse(why, "; start loam with LD_LIBRARY_PATH=%s to use the one there", driver.folder);
    driver.own = driver.version;
    driver.version = version;
    return true;
}

/* A driver runs what was built for its CUDA, for an earlier one, and for a later one of the same major version. */
static bool check_driver(const CudaBackend *backend, char *why)
{
    char compat[CUDA_WHY];
    const int major = backend->cuda / 1000;
    driver.version = version_of(driver.library);
    if (driver.version == 0)
        return refuse(why, "%s does not tell its version", DRIVER);
    if (driver.version / 1000 >= major || use_compat(major, compat))
        return true;
    return refuse(why, "the NVIDIA driver is for CUDA %d.%d, " FILE_NAME " needs one for %d.0 or later%s",
                  driver.version / 1000, driver.version % 1000 / 10, major, compat);
}

/* Looks beside the program, and in ../lib/loam for an installed program; false if there is none. */
static bool find_backend(char *path, size_t room)
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

/* text: dlerror's. cuBLASLt is missing more often than all else. */
static void *refuse_file(const char *text, char *why)
{
    const char *version = text ? strstr(text, CUBLASLT) : NULL;
    const int major = version ? atoi(version + strlen(CUBLASLT)) : 0;
    if (major == 0)
        return refuse(why, FILE_NAME " cannot be opened: %s", text ? end_of(text) : "no reason is given");
    return refuse(why,
                  FILE_NAME " is of CUDA %d and needs its cuBLASLt: " CUBLASLT "%d is not in " LIBRARIES
                            ", beside loam, or in a folder that LD_LIBRARY_PATH names",
                  major, major);
}

/* False if the table of sections, which ends a file that a linker wrote, is not whole: a copy was cut short. dlopen
 * would map the rest, too, and the first access beyond the end ends the program (SIGBUS). It refuses by itself what is
 * missing or no ELF file. */
static bool is_whole_library(const char *path, char *why)
{
    Elf64_Ehdr elf;
    struct stat file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool found = fd >= 0 && fstat(fd, &file) == 0 && pread(fd, &elf, sizeof elf, 0) == sizeof elf &&
                       memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 && elf.e_ident[EI_CLASS] == ELFCLASS64;
    if (fd >= 0)
        close(fd);
    if (!found)
        return true;
    const uint64_t size = (uint64_t)file.st_size, table = (uint64_t)elf.e_shnum * elf.e_shentsize;
    return (elf.e_shoff <= size && table <= size - elf.e_shoff) ||
           refuse(why, FILE_NAME " is damaged: %s has %llu bytes, fewer than its header says", end_of(path),
                  (unsigned long long)size);
}

static const CudaBackend *load_backend(char *why)
{
    char path[PATH_MAX + 64];
    const CudaBackend *(*entry)(void) = NULL;
    const char *named = getenv("LOAM_CUDA_BACKEND");
    if (named && strlen(named) >= PATH_MAX)
        return refuse(why, "LOAM_CUDA_BACKEND has %zu bytes, and a path less than %d", strlen(named), PATH_MAX);
    if (!find_backend(path, sizeof path))
        return refuse(why, "there is no " FILE_NAME " beside the program: it is built where CUDA's nvcc is");
    if (!is_whole_library(path, why))
        return NULL;
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (file == NULL)
        return refuse_file(dlerror(), why);
    *(void **)&entry = dlsym(file, CUDA_BACKEND_ENTRY);
    const CudaBackend *backend = entry ? entry() : NULL;
    if (backend == NULL || !is_of_this_build(backend))
        return refuse(why, "%s is of another build of loam", end_of(path));
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
    const CudaBackend *backend = load_backend(opened.reason);
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

bool cuda_versions(char *text)
{
    const CudaBackend *backend = backend_of(text);
    if (backend == NULL)
        return false;
    int n = snprintf(text, CUDA_WHY, "driver for CUDA %d.%d", driver.version / 1000, driver.version % 1000 / 10);
    if (driver.own)
        n += snprintf(text + n, (size_t)(CUDA_WHY - n), " of %.200s (the machine's is for %d.%d)", driver.folder,
                      driver.own / 1000, driver.own % 1000 / 10);
    snprintf(text + n, (size_t)(CUDA_WHY - n), ", " FILE_NAME " of CUDA %d.%d, cuBLASLt %d.%d.%d", backend->cuda / 1000,
             backend->cuda % 1000 / 10, backend->cublaslt / 10000, backend->cublaslt / 100 % 100,
             backend->cublaslt % 100);
    return true;
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
    if (index >= n)
        return refuse(why, "there is no GPU %d: the driver finds %d", index, n);
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

Device *cuda_open_beside(Device *dev, char *why)
{
    void *impl = opened.backend->open_beside(dev, why);
    if (impl == NULL)
        return NULL;
    Precision precision = dev->precision;
    precision.residual = DT_F32;
    Device *beside = device_new("cuda", dev->ops, precision, true, 1, "cuda", impl);
    beside->gpu = dev->gpu;
    beside->isa = beside->gpu.name;
    return beside;
}

void *cuda_stream(Device *dev)
{
    return opened.backend->stream(dev);
}

void cuda_follow(Device *dev, Device *other, DeviceEvent event)
{
    opened.backend->follow(dev, other, event);
}

bool cuda_reached(Device *dev, DeviceEvent event)
{
    return opened.backend->reached(dev, event);
}
