#include "base/machine.h"

#include <glib.h>
#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/times.h>
#include <unistd.h>

/* The value of the first line of /proc/cpuinfo with this name; NULL means that there is none. */
static char *cpuinfo(const char *info, const char *name)
{
    const char *line = strstr(info, name);
    const char *value = line ? strstr(line, ": ") : NULL;
    return value ? g_strndup(value + 2, strcspn(value + 2, "\n")) : NULL;
}

/* On x86-64 Linux knows a processor's name, on aarch64 only the numbers of its maker and its model. */
char *machine_processor(void)
{
    g_autofree char *info = NULL;
    if (!g_file_get_contents("/proc/cpuinfo", &info, NULL, NULL))
        return g_strdup("unknown");
    g_autofree char *model = cpuinfo(info, "model name");
    g_autofree char *maker = cpuinfo(info, "CPU implementer"), *part = cpuinfo(info, "CPU part");
    if (model)
        return g_steal_pointer(&model);
    return maker && part ? g_strdup_printf("implementer %s, part %s", maker, part) : g_strdup("unknown");
}

void machine_boot_id(char id[MACHINE_BOOT_ID])
{
    g_autofree char *text = NULL;
    memset(id, 0, MACHINE_BOOT_ID);
    if (g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
        g_strlcpy(id, g_strchomp(text), MACHINE_BOOT_ID);
}

char *machine_beside_program(const char *const *paths)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = program ? g_path_get_dirname(program) : NULL;
    for (size_t i = 0; folder && paths[i]; i++) {
        g_autofree char *path = g_canonicalize_filename(paths[i], folder);
        if (access(path, R_OK) == 0)
            return g_steal_pointer(&path);
    }
    return NULL;
}

double machine_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (double)pages * (double)bytes : 0;
}

double machine_resident(void)
{
    long whole, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    const int n = file ? fscanf(file, "%ld %ld", &whole, &resident) : 0;
    if (file)
        fclose(file);
    return n == 2 ? (double)resident * (double)sysconf(_SC_PAGESIZE) : 0;
}

/* A line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal (user and nice include guest times). */
MachineLoad machine_load_of(const char *stat, double own)
{
    double ticks[8] = { 0 };
    MachineLoad load = { .own = own };
    const int n = sscanf(stat, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2], &ticks[3],
                         &ticks[4], &ticks[5], &ticks[6], &ticks[7]);
    for (int i = 0; i < n; i++) {
        load.all += ticks[i];
        load.busy += i == 3 || i == 4 ? 0 : ticks[i];
    }
    for (const char *line = strchr(stat, '\n'); line && g_str_has_prefix(line, "\ncpu"); line = strchr(line + 1, '\n'))
        load.cores++;
    return n >= 4 ? load : (MachineLoad){ 0 };
}

MachineLoad machine_load(void)
{
    g_autofree char *stat = NULL;
    struct tms own;
    if (times(&own) == (clock_t)-1 || !g_file_get_contents("/proc/stat", &stat, NULL, NULL))
        return (MachineLoad){ 0 };
    return machine_load_of(stat, (double)(own.tms_utime + own.tms_stime));
}

double machine_busy_cores(MachineLoad before, MachineLoad after)
{
    const double others = after.busy - before.busy - (after.own - before.own), all = after.all - before.all;
    return all > 0 && after.cores > 0 ? fmax(0, others / all * after.cores) : 0;
}

/* ---- cores ---- */

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
