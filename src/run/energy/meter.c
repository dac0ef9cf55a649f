/* meter.c: adds up the energy of all sources. */
#include "base/clock.h"
#include "base/log.h"
#include "run/energy/energy.h"

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
    g_mutex_lock(&meter->lock);
    while (!meter->end) {
        g_cond_wait_until(&meter->ends, &meter->lock, g_get_monotonic_time() + PERIOD_S * G_USEC_PER_SEC);
        sample(meter);
    }
    g_mutex_unlock(&meter->lock);
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
    g_mutex_lock(&meter->lock);
    sample(meter);
    const EnergyUse use = meter->use;
    g_mutex_unlock(&meter->lock);
    return use;
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
