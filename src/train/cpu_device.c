#include "train/cpu_device.h"

#include "base/log.h"

#include <sched.h>

Device *cpu_device_open(int threads)
{
    Device *dev = device_open_cpu(threads);
    cpu_set_t allowed; /* what taskset, Slurm and containers leave, which g_get_num_processors does not look at */
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && dev->threads > CPU_COUNT(&allowed))
        log_warning("%d compute threads on %d cores slow each other down; train.threads or OMP_NUM_THREADS sets them",
                    dev->threads, CPU_COUNT(&allowed));
    return dev;
}
