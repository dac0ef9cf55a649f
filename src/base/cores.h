/* cores.h: the processor cores of ranks that are threads of one process: each rank gets its share of the cores that the
 * process may use, on one NUMA node if it fits there, so that its threads and its memory stay together. */
#pragma once

#include <sched.h>

/* Sets *own to the share of rank `rank` of `ranks`: `allowed` is ordered by NUMA node, then by physical core, and cut
 * into `ranks` parts of equal size, up to one core. Returns the number of its cores; 0 if there are fewer cores than
 * ranks. sysfs: "/sys/devices/system", which has node/nodeN/cpulist and cpu/cpuN/topology; what is missing there counts
 * as one node, or one core. */
int cores_share(const char *sysfs, const cpu_set_t *allowed, int rank, int ranks, cpu_set_t *own);
/* Restricts the calling thread, and threads that it starts later, to its share of the cores that it may use now, and
 * returns the number of these cores. Returns 0 without any effect if there are fewer cores than ranks, or if
 * OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY is set: then OpenMP places the threads, or the user wants none placed
 * (OMP_PROC_BIND=false). */
int cores_take(int rank, int ranks);
/* Number of NUMA nodes of the machine that have cores; at least 1. sysfs: as in cores_share. */
int cores_nodes(const char *sysfs);
