/* as_cpu.c: in a test program that is linked with -Wl,--wrap=device_open_cpu, the cpu device is that of the shim. */
#include "shim/device_shim.h"

Device *__wrap_device_open_cpu(int threads, Precision precision);

Device *__wrap_device_open_cpu(int threads, Precision precision)
{
    (void)threads;
    return device_open_shim(precision);
}
