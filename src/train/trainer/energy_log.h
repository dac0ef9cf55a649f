/* energy_log.h: the row of RUN/emissions.csv of this start of a run (log.emissions), over all its ranks. */
#pragma once

#include "comm/comm.h"
#include "device/device.h"
#include "train/config/config.h"
#include "train/energy/energy.h"

typedef struct EnergyLog EnergyLog; /* NULL means that log.emissions is off; every function ignores it */

/* All ranks call it. On each machine one rank measures the processors, and each rank its GPU. If emissions.csv cannot
 * be continued, a warning says so. */
EnergyLog *energy_log_open(const Config *config, const Device *dev, Comm *ranks);
/* Adds up the energy of all ranks, all of which call it, and writes the row, at most every ten seconds. */
void energy_log_write(EnergyLog *log);
/* If only rank 0 measures anything, writes the row once more, with the energy since the last log line. If several ranks
 * measure, that energy is left out, since the ranks do not end at the same time. */
void energy_log_close(EnergyLog *log);
