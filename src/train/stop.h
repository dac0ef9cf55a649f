/* stop.h: requests to stop: SIGTERM, SIGUSR1 (Slurm) and SIGINT are noticed at the end of a step. A second SIGINT ends
 * at once. */
#pragma once

#include <stdbool.h>

void stop_catch_signals(void);
bool stop_requested(void);
