/* tiny_tokenizer.h: a tokenizer and texts for tests that need no download. */
#pragma once

#include "base/philox.h"
#include "data/data_test.h"
#include "text/tokenizer.h"
#include "text/tokenizer_train.h"

/* Words of a made-up language of 20 syllables; the same for the same number. g_free. */
static inline char *tiny_text(uint64_t number, int64_t words)
{
    static const char *const syllables[] = { "ba", "ko", "ri", "tu", "me", "sa", "lo", "ni", "da", "pe",
                                             "gu", "fi", "ra", "no", "ti", "ve", "mo", "su", "ka", "le" };
    GString *text = g_string_new(NULL);
    Philox rng = philox_open(philox_key(7, PHILOX_SAMPLING, 0), number);
    for (int64_t word = 0; word < words; word++) {
        if (word > 0)
            g_string_append_c(text, ' ');
        for (uint64_t n = 1 + philox_below(&rng, 3); n > 0; n--)
            g_string_append(text, syllables[philox_below(&rng, G_N_ELEMENTS(syllables))]);
    }
    return g_string_free(text, false);
}

typedef struct TinyLines {
    uint64_t next;
    char *line;
} TinyLines;

static inline bool tiny_line(void *context, const char **line, size_t *bytes, G_GNUC_UNUSED GError **error)
{
    TinyLines *lines = context;
    if (lines->next == 300)
        return false;
    g_free(lines->line);
    *line = lines->line = tiny_text(lines->next++, 12);
    *bytes = strlen(*line);
    return true;
}

/* FOLDER/NAME, trained on tiny texts. */
static inline Tokenizer *tiny_tokenizer(const char *folder, const char *name, int vocab_size)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GError) error = NULL;
    TinyLines lines = { 0 };
    const TokenizerTraining training = {
        .type = "unigram", .vocab_size = vocab_size, .out = path, .character_coverage = 1
    };
    bool trained = tokenizer_train(&training, tiny_line, &lines, &error);
    g_assert_no_error(error);
    g_assert_true(trained);
    g_free(lines.line);
    Tokenizer *tok = tokenizer_open(path, &error);
    g_assert_no_error(error);
    return tok;
}
