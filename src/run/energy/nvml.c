/* nvml.c: the energy counter of an NVIDIA GPU, from libnvidia-ml, which comes with the driver. */
#include "base/text.h"
#include "run/energy/energy.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef void *NvmlDevice;

struct Nvml {
    void *library;
    NvmlDevice device;
    int (*shutdown)(void);
    int (*total_energy)(NvmlDevice device, unsigned long long *millijoules);
    unsigned long long last;
};

/* The entry of a GPU in CUDA_VISIBLE_DEVICES, such as "3" in "2,3", or a "GPU-UUID"; NULL means that all GPUs are
 * visible. g_free. */
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

Nvml *nvml_open(int cuda_index, char **why)
{
    Nvml *nvml = g_new0(Nvml, 1);
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml->library && start_nvml(nvml, cuda_index))
        return nvml;
    *why = g_strdup(nvml->library ? "the GPU has no energy counter" : "there is no libnvidia-ml.so.1");
    nvml_close(nvml);
    return NULL;
}

void nvml_close(Nvml *nvml)
{
    if (nvml == NULL)
        return;
    if (nvml->shutdown)
        nvml->shutdown();
    if (nvml->library)
        dlclose(nvml->library);
    g_free(nvml);
}

void nvml_add(Nvml *nvml, EnergyUse *use)
{
    unsigned long long now;
    if (nvml->total_energy(nvml->device, &now) != 0 || now < nvml->last)
        return;
    use->gpu += (double)(now - nvml->last) / 1e3;
    nvml->last = now;
}
