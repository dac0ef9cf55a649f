#include "base/machine.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
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
