#include "data/prepare/prepare_pipeline.h"

#include <string.h>

#define CODE_POINTS 0x110000
#define SHOWN       5

enum { UNTRIED, KNOWN, UNKNOWN };

struct UnknownCharacters {
    const Tokenizer *tok;
    GArray *ids;      /* int32_t: scratch */
    uint8_t *state;   /* (CODE_POINTS) */
    int64_t **counts; /* (n_sets)(CODE_POINTS): of unknown characters; NULL for a dataset without any */
    int n_sets;
};

UnknownCharacters *unknown_characters_new(const Tokenizer *tok, int n_sets)
{
    UnknownCharacters *unknown = g_new(UnknownCharacters, 1);
    *unknown = (UnknownCharacters){ .tok = tok,
                                    .ids = g_array_new(false, false, sizeof(int32_t)),
                                    .state = g_new0(uint8_t, CODE_POINTS),
                                    .counts = g_new0(int64_t *, n_sets),
                                    .n_sets = n_sets };
    return unknown;
}

void unknown_characters_free(UnknownCharacters *unknown)
{
    if (!unknown)
        return;
    g_array_unref(unknown->ids);
    g_free(unknown->state);
    for (int set = 0; set < unknown->n_sets; set++)
        g_free(unknown->counts[set]);
    g_free(unknown->counts);
    g_free(unknown);
}

static uint8_t try_character(UnknownCharacters *unknown, const char *text, size_t bytes)
{
    g_autoptr(GError) ignored = NULL;
    g_array_set_size(unknown->ids, 0);
    if (!tokenizer_encode(unknown->tok, text, bytes, false, unknown->ids, &ignored))
        return KNOWN;
    for (guint i = 0; i < unknown->ids->len; i++)
        if (g_array_index(unknown->ids, int32_t, i) == tokenizer_unk(unknown->tok))
            return UNKNOWN;
    return KNOWN;
}

void unknown_characters_add(UnknownCharacters *unknown, int set, const char *text, size_t bytes)
{
    if (!unknown->counts[set])
        unknown->counts[set] = g_new0(int64_t, CODE_POINTS);
    for (const char *at = text, *next; at < text + bytes; at = next) {
        const gunichar c = g_utf8_get_char(at);
        next = g_utf8_next_char(at);
        if (unknown->state[c] == UNTRIED)
            unknown->state[c] = try_character(unknown, at, (size_t)(next - at));
        unknown->counts[set][c] += unknown->state[c] == UNKNOWN;
    }
}

void unknown_characters_commonest(const UnknownCharacters *unknown, int set, char *out, size_t capacity)
{
    const int64_t *counts = unknown->counts[set];
    g_autoptr(GString) text = g_string_new(NULL);
    gunichar best[SHOWN];
    int n = 0;
    for (gunichar c = 0; counts && c < CODE_POINTS; c++) {
        int at = n;
        if (counts[c] == 0)
            continue;
        while (at > 0 && counts[best[at - 1]] < counts[c])
            at--;
        if (at == SHOWN)
            continue;
        n = MIN(n + 1, SHOWN);
        memmove(best + at + 1, best + at, (size_t)(n - 1 - at) * sizeof *best);
        best[at] = c;
    }
    for (int i = 0; i < n; i++) {
        if (i > 0)
            g_string_append_c(text, ' ');
        if (g_unichar_isgraph(best[i]))
            g_string_append_unichar(text, best[i]);
        else
            g_string_append_printf(text, "U+%04X", best[i]);
    }
    g_strlcpy(out, text->str, capacity);
}
