/* Any bytes as the emissions.csv of a run that goes on: its whole rows stay and one is added, or the file is kept as
 * emissions.csv.bak. */
#include "base/file.h"
#include "fuzz_folder.h"
#include "run/energy/energy.h"

#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const EmissionsInfo info = { .run = "a", .country = "", .intensity = 475, .pue = 1, .gpu_name = "" };
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), "emissions.csv", NULL), *text = NULL;
    size_t left;
    if (io_is_lfs_pointer(data, bytes))
        return 0;
    fuzz_put("emissions.csv", data, bytes);
    Emissions *emissions = emissions_open(fuzz_folder(), &info, &error);
    if (!emissions)
        return 0;
    CHECK(emissions_write(emissions, 1, &(EnergyUse){ .cpu = 1 }, &error), "%s", error->message);
    emissions_close(emissions);
    CHECK(g_file_get_contents(path, &text, &left, NULL), "%s", path);
    g_autofree char *backup = g_strconcat(path, ".bak", NULL);
    if (unlink(backup) == 0)
        return 0;
    const uint8_t *last = bytes > 0 ? memrchr(data, '\n', bytes) : NULL;
    const size_t kept = last ? (size_t)(last + 1 - data) : 0;
    CHECK(left > kept && memcmp(text, data, kept) == 0 && text[left - 1] == '\n', "%zu bytes of %zu", left, bytes);
    return 0;
}
