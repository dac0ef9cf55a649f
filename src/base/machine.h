/* machine.h: what this machine and this process are, and which of its cores the ranks of a process get. */
#pragma once

#include <sched.h>

/* The name of the processor; "unknown" if the system does not tell. g_free. */
char *machine_processor(void);
/* The boot id by which processes, in containers too, know that they share a machine, padded with 0; "" if unknown. */
enum { MACHINE_BOOT_ID = 40 };
void machine_boot_id(char id[MACHINE_BOOT_ID]);
/* The first of these paths, relative to the program's folder, that can be read, or NULL; NULL ends the list. g_free. */
char *machine_beside_program(const char *const *paths);
/* Bytes of main memory of the machine; 0 if the system does not tell. */
double machine_memory(void);
/* Bytes of main memory that this process occupies (its resident set size); 0 if the system does not tell. */
double machine_resident(void);

/* Processor time so far, in ticks of the kernel: of all cores (busy, and busy or idle), and of this process. */
typedef struct MachineLoad {
    double busy, all, own;
    int cores; /* 0 means that the system does not tell */
} MachineLoad;
MachineLoad machine_load(void);
/* The same from the text of /proc/stat. */
MachineLoad machine_load_of(const char *stat, double own);
/* Number of cores that other processes kept busy between two readings; 0 if the system does not tell. */
double machine_busy_cores(MachineLoad before, MachineLoad after);

/* ---- cores: logical CPUs. Each rank that is a thread of this process gets consecutive ones of those that the process
 * may use, ordered by NUMA node, so that its threads and memory are on one node if cores and ranks allow it ---- */

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
