/* peak.h: the speed of large matrix products on this machine, which other speeds are given as a share of. */
#pragma once

#include "device/device.h"

/* FLOP/s of the fastest of several square products in the compute dtype of the device, measured for about `seconds`; 0
 * means too little memory. */
double device_gemm_peak(Device *dev, double seconds);
