#include "data/prepare/words.h"

#include <stdbool.h>
#include <xxhash.h>

static bool is_letter(char c)
{
    return g_ascii_isalnum(c) || c == '_' || (signed char)c < 0;
}

void words_list(const char *text, size_t bytes, GArray *words)
{
    for (size_t at = 0, end; at < bytes; at = end) {
        end = at + 1;
        if (g_ascii_isspace(text[at]))
            continue;
        while (is_letter(text[at]) && end < bytes && is_letter(text[end]))
            end++;
        const uint64_t hash = XXH3_64bits(text + at, end - at);
        g_array_append_val(words, hash);
    }
}

uint64_t words_gram(const GArray *words, int64_t first, int64_t n)
{
    return XXH3_64bits(&g_array_index(words, uint64_t, first), (size_t)n * sizeof(uint64_t));
}
