#include "base/cores.h"

#include <glib.h>
#include <hwloc.h>
#include <stdbool.h>

/* The CPUs and NUMA nodes of this machine; NULL means that there is no memory for them. */
static hwloc_topology_t machine_open(void)
{
    hwloc_topology_t machine = NULL;
    if (hwloc_topology_init(&machine) != 0)
        return NULL;
    if (hwloc_topology_load(machine) == 0)
        return machine;
    hwloc_topology_destroy(machine);
    return NULL;
}

int cores_share(const cpu_set_t *allowed, int rank, int ranks, cpu_set_t *own)
{
    const int n = CPU_COUNT(allowed), first = n * rank / ranks, end = n * (rank + 1) / ranks;
    hwloc_topology_t machine = n < ranks ? NULL : machine_open();
    int i = 0;
    CPU_ZERO(own);
    if (!machine)
        return 0;
    for (hwloc_obj_t cpu = NULL; (cpu = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_PU, cpu));) {
        if (!CPU_ISSET(cpu->os_index, allowed))
            continue;
        if (i >= first && i < end)
            CPU_SET(cpu->os_index, own);
        i++;
    }
    hwloc_topology_destroy(machine);
    return CPU_COUNT(own);
}

int cores_take(int rank, int ranks)
{
    static const char *const placed[] = { "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY" };
    cpu_set_t allowed, own;
    for (size_t i = 0; i < G_N_ELEMENTS(placed); i++)
        if (g_getenv(placed[i]))
            return 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 0;
    int n = cores_share(&allowed, rank, ranks, &own);
    return n > 0 && sched_setaffinity(0, sizeof own, &own) == 0 ? n : 0;
}

int cores_nodes(void)
{
    hwloc_topology_t machine = machine_open();
    int n = 0;
    for (hwloc_obj_t node = NULL; machine && (node = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, node));)
        n += !hwloc_bitmap_iszero(node->cpuset);
    if (machine)
        hwloc_topology_destroy(machine);
    return MAX(n, 1);
}
