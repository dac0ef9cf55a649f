/* energy.c: the row of RUN/emissions.csv of this start of a run (log.emissions), over all its ranks. On each machine
 * one rank measures the processors, and each rank its GPU. */
#include "run/energy/energy.h"

#include "train/services/service.h"

#include <string.h>
#include <xxhash.h>

#define PERIOD_S 10

typedef struct EnergyLog {
    Comm *ranks;
    EnergyMeter *meter;   /* NULL if this rank measures nothing */
    Emissions *emissions; /* of rank 0 */
    char *run;            /* name of the run */
    bool alone;           /* only rank 0 measures anything */
    bool failing;
    double opened, written; /* clock_seconds() */
} EnergyLog;

/* Whether this rank is the first one of its machine. *alone: all ranks are on one machine. */
static bool first_of_machine(Comm *ranks, bool *alone)
{
    const char *host = g_get_host_name();
    const uint64_t own = XXH3_64bits(host, strlen(host));
    g_autofree uint64_t *all = g_new0(uint64_t, comm_size(ranks));
    bool first = true;
    comm_share(ranks, all, &own, sizeof own);
    *alone = true;
    for (int r = 0; r < comm_size(ranks); r++) {
        first = first && (r >= comm_rank(ranks) || all[r] != own);
        *alone = *alone && all[r] == all[0];
    }
    return first;
}

/* A file that cannot be continued does not keep the run from training. */
static void open_emissions(EnergyLog *log, const char *dir, const EmissionsInfo *info)
{
    g_autoptr(GError) problem = NULL;
    log->emissions = emissions_open(dir, info, &problem);
    if (problem)
        log_warning("log.emissions: %s; the run goes on without it", problem->message);
}

static void *energy_service_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    const Config *config = &t->config;
    const LogConfig *options = &config->log;
    const Device *dev = t->dev;
    Comm *ranks = t->mesh.world;
    const bool gpu = *dev->gpu.name != '\0';
    if (!options->emissions || trainer_had_ended(t))
        return NULL;
    EnergyLog *opened = g_new0(EnergyLog, 1);
    opened->ranks = ranks;
    opened->opened = clock_seconds();
    opened->written = opened->opened - PERIOD_S;
    const EnergySources sources = { .machine = first_of_machine(ranks, &opened->alone),
                                    .cpu_watts = options->cpu_watts,
                                    .ram_watts = options->ram_watts,
                                    .gpu = gpu ? dev->gpu.index : -1 };
    opened->alone = opened->alone && (!gpu || comm_size(ranks) == 1);
    opened->run = g_path_get_basename(config->run.dir);
    const EmissionsInfo info = { .run = opened->run,
                                 .country = options->country,
                                 .intensity = options->carbon_intensity,
                                 .pue = options->pue,
                                 .gpu_name = dev->gpu.name,
                                 .gpus = gpu ? comm_size(ranks) : 0 };
    if (comm_rank(ranks) == 0)
        open_emissions(opened, config->run.dir, &info);
    if (sources.machine || gpu)
        opened->meter = energy_open(&sources);
    return opened;
}

/* A disk that is full for a while does not end the run. */
static void write_row(EnergyLog *log, const EnergyUse *use)
{
    g_autoptr(GError) problem = NULL;
    const double now = clock_seconds();
    const bool good = emissions_write(log->emissions, now - log->opened, use, &problem);
    if (!good && !log->failing)
        log_warning("%s; the run goes on", problem->message);
    log->failing = !good;
    log->written = now;
}

/* At a log line: adds up the energy of all ranks, and writes the row, at most every ten seconds. */
static Verdict energy_service_after_step(void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    EnergyLog *log = own;
    if ((!(t->due & DUE_LOG) && !t->step.last) || (log->alone && clock_seconds() - log->written < PERIOD_S))
        return VERDICT_GO_ON;
    EnergyUse use = log->meter ? energy_used(log->meter) : (EnergyUse){ 0 };
    if (!log->alone)
        comm_sum(log->ranks, (double *)&use, sizeof use / sizeof(double));
    if (log->emissions && clock_seconds() - log->written >= PERIOD_S)
        write_row(log, &use);
    return VERDICT_GO_ON;
}

static void energy_service_free(void *own)
{
    EnergyLog *log = own;
    if (log->emissions && log->meter && log->alone) {
        const EnergyUse use = energy_used(log->meter);
        write_row(log, &use);
    }
    energy_close(log->meter);
    emissions_close(log->emissions);
    g_free(log->run);
    g_free(log);
}

const Service energy_service = { .open = energy_service_open,
                                 .after_step = energy_service_after_step,
                                 .free = energy_service_free };
