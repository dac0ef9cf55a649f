#include "base/cores.h"

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>

enum { NODES = 1024 }; /* numbers of NUMA nodes that are looked for */

typedef struct Core {
    int cpu, node, physical; /* physical: the first CPU of its hyperthreads */
} Core;

/* Reads "0-3,8,10-11" and calls take for every number below CPU_SETSIZE. */
static void each_cpu(const char *path, void (*take)(int cpu, void *context), void *context)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return;
    g_auto(GStrv) ranges = g_strsplit(g_strstrip(text), ",", -1);
    for (char **range = ranges; *range && **range; range++) {
        char *end;
        long first = strtol(*range, &end, 10), last = *end == '-' ? strtol(end + 1, NULL, 10) : first;
        for (long cpu = MAX(first, 0); cpu <= last && cpu < CPU_SETSIZE; cpu++)
            take((int)cpu, context);
    }
}

typedef struct NodeNote {
    Core *cores; /* (n) */
    int n, node;
} NodeNote;

static void note_node(int cpu, void *context)
{
    const NodeNote *note = context;
    for (int i = 0; i < note->n; i++)
        if (note->cores[i].cpu == cpu)
            note->cores[i].node = note->node;
}

static void note_least(int cpu, void *least)
{
    *(int *)least = MIN(*(int *)least, cpu);
}

static int by_place(gconstpointer a, gconstpointer b)
{
    const Core *x = a, *y = b;
    if (x->node != y->node)
        return x->node - y->node;
    return x->physical != y->physical ? x->physical - y->physical : x->cpu - y->cpu;
}

/* Numbers of nodes may be missing, so all from 0 to NODES - 1 are tried; a node without cores changes nothing. */
static void find_nodes(const char *sysfs, Core *cores, int n)
{
    for (int node = 0; node < NODES; node++) {
        g_autofree char *path = g_strdup_printf("%s/node/node%d/cpulist", sysfs, node);
        NodeNote note = { cores, n, node };
        each_cpu(path, note_node, &note);
    }
}

int cores_share(const char *sysfs, const cpu_set_t *allowed, int rank, int ranks, cpu_set_t *own)
{
    const int all = CPU_COUNT(allowed);
    g_autofree Core *cores = g_new0(Core, all);
    int n = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, allowed))
            continue;
        g_autofree char *path = g_strdup_printf("%s/cpu/cpu%d/topology/thread_siblings_list", sysfs, cpu);
        cores[n] = (Core){ .cpu = cpu, .physical = cpu };
        each_cpu(path, note_least, &cores[n++].physical);
    }
    find_nodes(sysfs, cores, n);
    qsort(cores, (size_t)n, sizeof *cores, by_place);
    CPU_ZERO(own);
    if (n < ranks)
        return 0;
    const int first = n * rank / ranks, end = n * (rank + 1) / ranks;
    for (int i = first; i < end; i++)
        CPU_SET((size_t)cores[i].cpu, own);
    return end - first;
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
    int n = cores_share("/sys/devices/system", &allowed, rank, ranks, &own);
    return n > 0 && sched_setaffinity(0, sizeof own, &own) == 0 ? n : 0;
}

static void note_any(int cpu, void *found)
{
    (void)cpu;
    *(bool *)found = true;
}

int cores_nodes(const char *sysfs)
{
    int n = 0;
    for (int node = 0; node < NODES; node++) {
        g_autofree char *path = g_strdup_printf("%s/node/node%d/cpulist", sysfs, node);
        bool found = false;
        each_cpu(path, note_any, &found);
        n += found;
    }
    return MAX(n, 1);
}
