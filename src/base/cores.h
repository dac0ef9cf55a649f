/* cores.h: divides the processor cores that a process may use among ranks that are threads of this process. The cores
 * are ordered by NUMA node and each rank gets consecutive ones, so that its threads and its memory are on one node if
 * the numbers of cores and ranks allow it. A core is a logical CPU here. */
#pragma once

#include <sched.h>

/* Sets *own to the share of rank `rank` of `ranks`: `allowed` is ordered by NUMA node, then by physical core, and cut
 * into `ranks` consecutive parts whose sizes differ by at most one. Returns the number of its cores; 0 if there are
 * fewer cores than ranks. The machine is as hwloc finds it. */
int cores_share(const cpu_set_t *allowed, int rank, int ranks, cpu_set_t *own);
/* Restricts the calling thread, and threads that it starts later, to its share of the cores that it may use now, and
 * returns the number of these cores. Returns 0 without any effect if there are fewer cores than ranks, or if
 * OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY is set: then OpenMP places the threads, or the user wants none placed
 * (OMP_PROC_BIND=false). */
int cores_take(int rank, int ranks);
/* Number of NUMA nodes of the machine that have cores; at least 1. */
int cores_nodes(void);
