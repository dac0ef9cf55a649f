/* cpu_device.h: the device that training, evaluation and decoding run on. */
#pragma once

#include "device/device.h"

/* Opens the CPU with `threads` compute threads; 0 means one per core, or OMP_NUM_THREADS. Warns where that is more
 * threads than this process has cores to run on. */
Device *cpu_device_open(int threads, Precision precision);
