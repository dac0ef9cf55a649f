/* Any bytes as a TensorBoard event file that is cut back: what is left is whole records, which a second cut leaves
 * alone. The first byte is the step. */
#include "base/file.h"
#include "format/events.h"
#include "fuzz_folder.h"

#include <string.h>

#define NAME "events.out.tfevents.1"

static char *cut(int64_t step, size_t *bytes)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), NAME, NULL);
    char *left = NULL;
    CHECK(events_cut(fuzz_folder(), step, 2 * step, &error), "%s", error->message);
    CHECK(g_file_get_contents(path, &left, bytes, NULL), "%s", path);
    return left;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0 || io_is_lfs_pointer(data + 1, bytes - 1)) /* refused by name, whatever follows */
        return 0;
    size_t once_bytes, twice_bytes;
    fuzz_put(NAME, data + 1, bytes - 1);
    g_autofree char *once = cut(data[0], &once_bytes), *twice = cut(data[0], &twice_bytes);
    CHECK(once_bytes < bytes && once_bytes == twice_bytes && memcmp(once, twice, once_bytes) == 0,
          "%zu bytes, then %zu, then %zu", bytes - 1, once_bytes, twice_bytes);
    return 0;
}
