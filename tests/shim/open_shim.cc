/* open_shim.cc: the kernels on the host as a device of a test's own. */
#include "shim/device_shim_table.h"

extern "C" {
#include "shim/device_shim.h"
}

extern "C" Device *device_open_shim(Precision precision)
{
    precision.fp8_bytes = true;
    return device_new("cuda", shim_table(), precision, true, 1, "shim", shim_gpu_new());
}
