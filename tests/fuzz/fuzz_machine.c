/* Any bytes as a machine of `loam bench comm --out`: an error, or one whose numbers are positive and finite. */
#include "fuzz_folder.h"
#include "plan/cluster/cluster.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    Machine machine;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), "machine.json", NULL);
    fuzz_put("machine.json", data, bytes);
    if (!machine_find(&machine, path, &error)) {
        CHECK(error, "a failure without an error");
        return 0;
    }
    const double numbers[] = { machine.memory_bytes, machine.flops, machine.copy_bytes, machine.within,
                               machine.between };
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        CHECK(numbers[i] > 0 && isfinite(numbers[i]), "number %zu is %g", i, numbers[i]);
    CHECK(machine.per_node > 0, "%d ranks", machine.per_node);
    g_free(machine_describe(&machine));
    return 0;
}
