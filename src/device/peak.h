/* peak.h: what this machine's matrix products reach, the yardstick of every speed figure. */
#pragma once

#include "device/device.h"

/* FLOP/s of the best of several square products in the device's dtype, measured for about `seconds`. 0 if memory is
 * short. */
double device_gemm_peak(Device *dev, double seconds);
