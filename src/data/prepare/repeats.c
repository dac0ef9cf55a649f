#include "data/prepare/repeats.h"

#include <string.h>
#include <xxhash.h>

enum { HASHES = REPEAT_BANDS * REPEAT_ROWS };

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

/* Makes the odd factors of the hash functions: upper halves of a linear congruential generator (Knuth's MMIX). */
static void list_factors(uint32_t factors[HASHES])
{
    uint64_t state = 1;
    for (int i = 0; i < HASHES; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        factors[i] = (uint32_t)(state >> 32) | 1;
    }
}

void repeats_sign(const char *text, size_t bytes, RepeatSignature *out)
{
    g_autoptr(GArray) words = g_array_new(false, false, sizeof(uint64_t));
    uint32_t factors[HASHES], least[HASHES];
    words_list(text, bytes, words);
    *out = (RepeatSignature){ .has_runs = words->len >= REPEAT_WORDS };
    list_factors(factors);
    memset(least, 0xff, sizeof least);
    for (int64_t first = 0; first + REPEAT_WORDS <= (int64_t)words->len; first++) {
        const uint32_t run = (uint32_t)words_gram(words, first, REPEAT_WORDS);
        for (int i = 0; i < HASHES; i++) {
            const uint32_t hash = (run ^ factors[HASHES - 1 - i]) * factors[i];
            least[i] = hash < least[i] ? hash : least[i];
        }
    }
    for (int band = 0; band < REPEAT_BANDS; band++) {
        XXH128_hash_t hash =
            XXH3_128bits_withSeed(least + band * REPEAT_ROWS, REPEAT_ROWS * sizeof *least, (uint64_t)band);
        out->bands[band][0] = hash.low64;
        out->bands[band][1] = hash.high64;
    }
}

bool repeats_add(SeenTable *before, const RepeatSignature *document, bool *repeats, GError **error)
{
    *repeats = false;
    for (int band = 0; document->has_runs && band < REPEAT_BANDS; band++) {
        bool fresh;
        if (!seen_table_add(before, document->bands[band][0], document->bands[band][1], &fresh, error))
            return false;
        *repeats |= !fresh;
    }
    return true;
}
