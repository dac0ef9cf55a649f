/* meter.c: the counters of energy of this machine, and a thread that adds them up. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "run/energy/energy.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- RAPL: the energy counters of the processors, as Linux shows them: intel-rapl:0/{name,energy_uj,
 * max_energy_range_uj} for a package, intel-rapl:0:1 for a part of it. Only packages and their memory are counted:
 * cores and graphics are parts of a package, and "psys" contains it. Processors of AMD have the same files. ---- */

#define MOST_COUNTERS 64
#define ZONE          "intel-rapl:"

typedef struct Counter {
    char *path; /* path of the counter's file energy_uj */
    uint64_t last, range;
    bool memory;
} Counter;

struct Rapl {
    Counter counters[MOST_COUNTERS];
    int n, packages;
};

static bool read_counter(const char *folder, const char *name, char text[64])
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    FILE *file = fopen(path, "r");
    const bool read = file && fgets(text, 64, file);
    const int problem = errno;
    if (file)
        fclose(file);
    errno = problem;
    if (read)
        g_strchomp(text);
    return read;
}

static bool read_number(const char *folder, const char *name, uint64_t *value)
{
    char text[64], *end;
    if (!read_counter(folder, name, text))
        return false;
    *value = g_ascii_strtoull(text, &end, 10);
    return end > text && *end == '\0';
}

static void add_zone(Rapl *rapl, const char *folder, char **why)
{
    char name[64];
    Counter counter = { 0 };
    if (!read_counter(folder, "name", name))
        return;
    const bool package = g_str_has_prefix(name, "package");
    counter.memory = strcmp(name, "dram") == 0;
    if ((!package && !counter.memory) || rapl->n == MOST_COUNTERS)
        return;
    if (!read_number(folder, "energy_uj", &counter.last) ||
        !read_number(folder, "max_energy_range_uj", &counter.range)) {
        g_free(*why);
        *why = g_strdup_printf("%s/energy_uj cannot be read: %s", folder, g_strerror(errno));
        return;
    }
    counter.path = g_strdup(folder);
    rapl->packages += package;
    rapl->counters[rapl->n++] = counter;
}

Rapl *rapl_open(const char *root, char **why)
{
    Rapl *rapl = g_new0(Rapl, 1);
    g_autoptr(GDir) dir = g_dir_open(root, 0, NULL);
    const char *name;
    *why = g_strdup_printf("%s has no energy counters", root);
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *folder = g_build_filename(root, name, NULL);
        if (g_str_has_prefix(name, ZONE))
            add_zone(rapl, folder, why);
    }
    if (rapl->packages > 0) {
        g_clear_pointer(why, g_free);
        return rapl;
    }
    rapl_close(rapl);
    return NULL;
}

void rapl_close(Rapl *rapl)
{
    if (rapl == NULL)
        return;
    for (int i = 0; i < rapl->n; i++)
        g_free(rapl->counters[i].path);
    g_free(rapl);
}

bool rapl_has_memory(const Rapl *rapl)
{
    return rapl->n > rapl->packages;
}

void rapl_add(Rapl *rapl, EnergyUse *use)
{
    for (Counter *counter = rapl->counters; counter < rapl->counters + rapl->n; counter++) {
        uint64_t now;
        if (!read_number(counter->path, "energy_uj", &now))
            continue;
        const uint64_t microjoules = now >= counter->last ? now - counter->last : now + counter->range - counter->last;
        counter->last = now;
        *(counter->memory ? &use->ram : &use->cpu) += (double)microjoules / 1e6;
    }
}

/* ---- NVML: the energy counter of an NVIDIA GPU, from libnvidia-ml, which comes with the driver ---- */

typedef void *NvmlDevice;

typedef struct Nvml {
    void *library;
    NvmlDevice device;
    int (*shutdown)(void);
    int (*total_energy)(NvmlDevice device, unsigned long long *millijoules);
    unsigned long long last;
} Nvml;

/* The entry of a GPU in CUDA_VISIBLE_DEVICES, such as "3" in "2,3", or a "GPU-UUID"; NULL means all. g_free. */
static char *visible_entry(int cuda_index)
{
    const char *visible = g_getenv("CUDA_VISIBLE_DEVICES");
    g_auto(GStrv) entries = text_list(visible);
    return cuda_index < (int)g_strv_length(entries) ? g_strdup(entries[cuda_index]) : NULL;
}

/* A UUID names the GPU itself; a number is an index among all GPUs. */
static bool find_device(Nvml *nvml, int cuda_index)
{
    int (*by_index)(unsigned index, NvmlDevice *device) = NULL;
    int (*by_uuid)(const char *uuid, NvmlDevice *device) = NULL;
    g_autofree char *entry = visible_entry(cuda_index);
    *(void **)&by_index = dlsym(nvml->library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&by_uuid = dlsym(nvml->library, "nvmlDeviceGetHandleByUUID");
    if (!by_index || !by_uuid)
        return false;
    if (entry && !g_ascii_isdigit(*entry))
        return by_uuid(entry, &nvml->device) == 0;
    return by_index(entry ? (unsigned)strtoul(entry, NULL, 10) : (unsigned)cuda_index, &nvml->device) == 0;
}

static bool start_nvml(Nvml *nvml, int cuda_index)
{
    int (*init)(void) = NULL;
    *(void **)&init = dlsym(nvml->library, "nvmlInit_v2");
    *(void **)&nvml->total_energy = dlsym(nvml->library, "nvmlDeviceGetTotalEnergyConsumption");
    void *shutdown = dlsym(nvml->library, "nvmlShutdown");
    if (!init || !nvml->total_energy || !shutdown || init() != 0)
        return false;
    *(void **)&nvml->shutdown = shutdown;
    return find_device(nvml, cuda_index) && nvml->total_energy(nvml->device, &nvml->last) == 0;
}

static void nvml_close(Nvml *nvml)
{
    if (nvml == NULL)
        return;
    if (nvml->shutdown)
        nvml->shutdown();
    if (nvml->library)
        dlclose(nvml->library);
    g_free(nvml);
}

/* cuda_index: of the GPU as CUDA counts them (CUDA_VISIBLE_DEVICES). NULL with *why, as in rapl_open. */
static Nvml *nvml_open(int cuda_index, char **why)
{
    Nvml *nvml = g_new0(Nvml, 1);
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml->library && start_nvml(nvml, cuda_index))
        return nvml;
    *why = g_strdup(nvml->library ? "the GPU has no energy counter" : "there is no libnvidia-ml.so.1");
    nvml_close(nvml);
    return NULL;
}

/* Adds the energy since the last call, or since nvml_open. */
static void nvml_add(Nvml *nvml, EnergyUse *use)
{
    unsigned long long now;
    if (nvml->total_energy(nvml->device, &now) != 0 || now < nvml->last)
        return;
    use->gpu += (double)(now - nvml->last) / 1e3;
    nvml->last = now;
}

/* ---- all sources ---- */

#define PERIOD_S 10

struct EnergyMeter {
    GMutex lock; /* protects everything below */
    GCond ends;
    GThread *thread;
    bool end;
    EnergySources sources;
    Rapl *rapl;  /* NULL means that the power is stated */
    Nvml *nvml;  /* NULL means none */
    double last; /* clock_seconds() of the last sample */
    EnergyUse use;
};

/* Takes one sample of all sources. The caller holds the lock. */
static void sample(EnergyMeter *meter)
{
    const double now = clock_seconds(), elapsed = now - meter->last;
    const EnergySources *sources = &meter->sources;
    meter->last = now;
    if (meter->rapl)
        rapl_add(meter->rapl, &meter->use);
    else if (sources->machine)
        meter->use.cpu += sources->cpu_watts * elapsed;
    if (sources->machine && !(meter->rapl && rapl_has_memory(meter->rapl)))
        meter->use.ram += sources->ram_watts * elapsed;
    if (meter->nvml)
        nvml_add(meter->nvml, &meter->use);
}

static void *sample_on(void *argument)
{
    EnergyMeter *meter = argument;
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&meter->lock);
    while (!meter->end) {
        g_cond_wait_until(&meter->ends, &meter->lock, g_get_monotonic_time() + PERIOD_S * G_USEC_PER_SEC);
        sample(meter);
    }
    return NULL;
}

static void open_sources(EnergyMeter *meter)
{
    const EnergySources *sources = &meter->sources;
    g_autofree char *no_rapl = NULL, *no_nvml = NULL;
    if (sources->machine)
        meter->rapl = rapl_open(sources->rapl ? sources->rapl : "/sys/class/powercap", &no_rapl);
    if (no_rapl && sources->cpu_watts > 0)
        log_info("log.emissions: %s; the processors count as %g W (log.cpu_watts)", no_rapl, sources->cpu_watts);
    else if (no_rapl)
        log_warning("log.emissions: %s; the energy of the processors is missing: state their power by log.cpu_watts",
                    no_rapl);
    if (sources->gpu >= 0)
        meter->nvml = nvml_open(sources->gpu, &no_nvml);
    if (no_nvml)
        log_warning("log.emissions: %s; the energy of the GPU is missing", no_nvml);
}

EnergyMeter *energy_open(const EnergySources *sources)
{
    EnergyMeter *meter = g_new0(EnergyMeter, 1);
    g_mutex_init(&meter->lock);
    g_cond_init(&meter->ends);
    meter->sources = *sources;
    open_sources(meter);
    meter->last = clock_seconds();
    meter->thread = g_thread_new("energy", sample_on, meter);
    return meter;
}

EnergyUse energy_used(EnergyMeter *meter)
{
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&meter->lock);
    sample(meter);
    return meter->use;
}

void energy_close(EnergyMeter *meter)
{
    if (meter == NULL)
        return;
    g_mutex_lock(&meter->lock);
    meter->end = true;
    g_cond_signal(&meter->ends);
    g_mutex_unlock(&meter->lock);
    g_thread_join(meter->thread);
    rapl_close(meter->rapl);
    nvml_close(meter->nvml);
    g_mutex_clear(&meter->lock);
    g_cond_clear(&meter->ends);
    g_free(meter);
}
