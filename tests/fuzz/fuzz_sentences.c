/* Any UTF-8 text: its sentences lie in order, none is empty, and only white space is between them. */
#include "base/check.h"
#include "data/prepare/prepare_pipeline.h"

#include <glib.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static bool is_space(const char *from, const char *to)
{
    for (; from < to; from = g_utf8_next_char(from))
        if (!g_unichar_isspace(g_utf8_get_char(from)))
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *at = (const char *)data, *end = at + bytes, *behind = at, *sentence;
    size_t n;
    if (!g_utf8_validate(at, (gssize)bytes, NULL))
        return 0;
    bool keep = bytes > 0 && (data[0] & 1);
    while (sentence_next(&at, end, keep, &sentence, &n)) {
        CHECK(n > 0 && sentence >= behind && sentence + n <= at && at <= end, "%zu bytes", n);
        CHECK(is_space(behind, sentence), "text before a sentence is lost");
        behind = sentence + n;
    }
    CHECK(is_space(behind, end), "text behind the last sentence is lost");
    return 0;
}
