/* Any bytes as a precompiled character map: refused, or text in its normal form within the map's memory. The first byte
 * is the length of the text, which follows; the rest is the map. */
#include "base/check.h"
#include "text/charsmap.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0)
        return 0;
    size_t n = MIN(data[0], bytes - 1);
    const char *text = (const char *)data + 1, *file = text + n;
    if (!g_utf8_validate_len(text, n, NULL) || !charsmap_is_valid(file, bytes - 1 - n))
        return 0;
    CharsMap map;
    g_autofree char *own = g_strndup(text, n); /* what follows it is not its own */
    g_autoptr(GString) out = g_string_new(NULL);
    charsmap_init(&map, file, bytes - 1 - n);
    charsmap_apply(&map, own, n, out);
    CHECK(bytes - 1 - n > 0 || (out->len == n && memcmp(out->str, own, n) == 0), "no map changes text");
    charsmap_clear(&map);
    return 0;
}
