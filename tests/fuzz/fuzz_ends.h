/* fuzz_ends.h: where tokens lie, for the targets that open tokenizers. */
#pragma once

#include "base/check.h"
#include "text/tokenizer.h"

#include <string.h>

/* ids: of the text. Its ends ascend to the end of the text, or they are not known for this tokenizer. */
static inline void fuzz_check_ends(const Tokenizer *tok, const char *text, bool specials, const GArray *ids)
{
    g_autoptr(GArray) again = g_array_new(FALSE, FALSE, sizeof(int32_t)),
                      ends = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autoptr(GError) error = NULL;
    if (!tokenizer_encode_ends(tok, text, strlen(text), specials, again, ends, &error)) {
        CHECK(error && strstr(error->message, "not known"), "%s", error ? error->message : "no reason");
        return;
    }
    CHECK(again->len == ids->len && ends->len == ids->len, "%u ids, %u of them again, %u ends", ids->len, again->len,
          ends->len);
    for (guint i = 0; i < ids->len; i++) {
        uint32_t end = g_array_index(ends, uint32_t, i), before = i > 0 ? g_array_index(ends, uint32_t, i - 1) : 0;
        CHECK(end >= before && end <= strlen(text), "token %u ends at %u, after one at %u", i, end, before);
    }
}
