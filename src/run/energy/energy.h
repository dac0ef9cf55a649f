/* energy.h: measures the energy that this machine's processors, memory and GPU use while a run trains, and writes
 * RUN/emissions.csv with CodeCarbon's columns. Energy of the processors is read from RAPL (/sys/class/powercap), of an
 * NVIDIA GPU from its driver (NVML, opened at run time); without RAPL it is the user's stated power times the time. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* Joules. */
typedef struct EnergyUse {
    double cpu, gpu, ram;
} EnergyUse;

/* ---- counters of the machine ---- */

/* The counters of RAPL: one per processor package, and one per memory ("dram") of a package. */
typedef struct Rapl Rapl;
/* root: "/sys/class/powercap". Returns NULL if there is no counter of a package that can be read: *why then says why
 * (g_free). rapl_close frees it. */
Rapl *rapl_open(const char *root, char **why);
void rapl_close(Rapl *rapl);
bool rapl_has_memory(const Rapl *rapl);
/* Adds to *use the energy since the last call, or since rapl_open. A counter overflows to 0 after some minutes at full
 * power, and only one overflow between two calls is noticed; so call this at least once per minute. */
void rapl_add(Rapl *rapl, EnergyUse *use);

/* ---- what a process uses ---- */

typedef struct EnergySources {
    bool machine;     /* counts processors and memory: one rank per machine does */
    double cpu_watts; /* power of the processors if RAPL cannot be read; 0 means unknown: their energy is then 0 */
    double ram_watts; /* power of the memory if RAPL has no counter of it; 0 means unknown */
    int gpu;          /* CUDA's index of the GPU that this rank uses; -1 means none */
    const char *rapl; /* root of rapl_open; NULL means that of Linux */
} EnergySources;

/* Measures in a thread of its own, which wakes every ten seconds. */
typedef struct EnergyMeter EnergyMeter;
/* Never fails; a source that cannot be read is a warning in the log. */
EnergyMeter *energy_open(const EnergySources *sources);
EnergyUse energy_used(EnergyMeter *meter); /* since energy_open */
void energy_close(EnergyMeter *meter);     /* NULL is ignored */

/* ---- emissions.csv ---- */

typedef struct EmissionsInfo {
    const char *run;      /* name of the run: column experiment_id */
    const char *country;  /* ISO code of the country, three letters; "" means unknown */
    double intensity;     /* grams of CO2 equivalents per kWh */
    double pue;           /* power usage effectiveness: energy of the data centre / energy of the machines */
    const char *gpu_name; /* "" means none */
    int gpus;             /* GPUs of all ranks together */
} EmissionsInfo;

/* One row of the file per start of the run. */
typedef struct Emissions Emissions;
/* Keeps the rows of earlier starts in DIR/emissions.csv. A file with other columns is renamed to the first free name of
 * emissions.csv.bak, .bak1, …, with a warning. The strings of `info` are borrowed. */
Emissions *emissions_open(const char *dir, const EmissionsInfo *info, GError **error);
void emissions_close(Emissions *emissions); /* NULL is ignored */
/* Writes the row of this start, in place of its last one: `seconds` and energy since the start, over all machines. The
 * file is replaced atomically. */
bool emissions_write(Emissions *emissions, double seconds, const EnergyUse *use, GError **error);
/* Whether a text is a code of ISO 3166-1 alpha-3, such as "FRA". */
bool country_is_known(const char *code);
