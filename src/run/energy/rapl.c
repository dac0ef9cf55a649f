/* rapl.c: the energy counters of the processors, as Linux shows them: intel-rapl:0/{name,energy_uj,
 * max_energy_range_uj} for a package, intel-rapl:0:1 for a part of it. Only packages and their memory are counted:
 * cores and graphics are parts of a package, and "psys" contains it. Processors of AMD have the same files. */
#include "run/energy/energy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MOST_COUNTERS 64
#define ZONE          "intel-rapl:"

typedef struct Counter {
    char *path; /* path of the counter's file energy_uj */
    uint64_t last, range;
    bool memory;
} Counter;

struct Rapl {
    Counter counters[MOST_COUNTERS];
    int n, packages;
};

static bool read_counter(const char *folder, const char *name, char text[64])
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    FILE *file = fopen(path, "r");
    const bool read = file && fgets(text, 64, file);
    const int problem = errno;
    if (file)
        fclose(file);
    errno = problem;
    if (read)
        g_strchomp(text);
    return read;
}

static bool read_number(const char *folder, const char *name, uint64_t *value)
{
    char text[64], *end;
    if (!read_counter(folder, name, text))
        return false;
    *value = g_ascii_strtoull(text, &end, 10);
    return end > text && *end == '\0';
}

/* Adds the counter of a zone, if it is one that counts. */
static void add_zone(Rapl *rapl, const char *folder, char **why)
{
    char name[64];
    Counter counter = { 0 };
    if (!read_counter(folder, "name", name))
        return;
    const bool package = g_str_has_prefix(name, "package");
    counter.memory = strcmp(name, "dram") == 0;
    if ((!package && !counter.memory) || rapl->n == MOST_COUNTERS)
        return;
    if (!read_number(folder, "energy_uj", &counter.last) ||
        !read_number(folder, "max_energy_range_uj", &counter.range)) {
        g_free(*why);
        *why = g_strdup_printf("%s/energy_uj cannot be read: %s", folder, g_strerror(errno));
        return;
    }
    counter.path = g_strdup(folder);
    rapl->packages += package;
    rapl->counters[rapl->n++] = counter;
}

Rapl *rapl_open(const char *root, char **why)
{
    Rapl *rapl = g_new0(Rapl, 1);
    g_autoptr(GDir) dir = g_dir_open(root, 0, NULL);
    const char *name;
    *why = g_strdup_printf("%s has no energy counters", root);
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *folder = g_build_filename(root, name, NULL);
        if (g_str_has_prefix(name, ZONE))
            add_zone(rapl, folder, why);
    }
    if (rapl->packages > 0) {
        g_clear_pointer(why, g_free);
        return rapl;
    }
    rapl_close(rapl);
    return NULL;
}

void rapl_close(Rapl *rapl)
{
    if (rapl == NULL)
        return;
    for (int i = 0; i < rapl->n; i++)
        g_free(rapl->counters[i].path);
    g_free(rapl);
}

bool rapl_has_memory(const Rapl *rapl)
{
    return rapl->n > rapl->packages;
}

void rapl_add(Rapl *rapl, EnergyUse *use)
{
    for (Counter *counter = rapl->counters; counter < rapl->counters + rapl->n; counter++) {
        uint64_t now;
        if (!read_number(counter->path, "energy_uj", &now))
            continue;
        const uint64_t microjoules = now >= counter->last ? now - counter->last : now + counter->range - counter->last;
        counter->last = now;
        *(counter->memory ? &use->ram : &use->cpu) += (double)microjoules / 1e6;
    }
}
