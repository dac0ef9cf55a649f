#include "cli/inspect/spans.h"

#include "base/text.h"
#include "data/objectives/objectives.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Terminal escape codes: underlined, in colours that are readable on light and dark backgrounds. */
static const char *const colours[] = { "\x1b[4;31m", "\x1b[4;32m", "\x1b[4;34m",
                                       "\x1b[4;35m", "\x1b[4;36m", "\x1b[4;33m" };
#define PLAIN "\x1b[0m"

static bool has_colours(void)
{
    const char *off = g_getenv("NO_COLOR"), *force = g_getenv("CLICOLOR_FORCE");
    if (off && *off)
        return false;
    return (force && *force && strcmp(force, "0") != 0) ||
           (isatty(STDOUT_FILENO) && g_strcmp0(g_getenv("TERM"), "dumb") != 0);
}

/* Prints the text with the tokens of each span coloured. The end of a run of tokens in the text is found by decoding
 * all tokens up to there. */
static bool print_runs(const int32_t *tokens, const int32_t *spans, int64_t n, const char *text, const Tokenizer *tok,
                       GError **error)
{
    size_t at = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && spans[end] == spans[i];)
            end++;
        g_autofree char *before = tokenizer_decode(tok, tokens, end, error);
        if (!before)
            return false;
        size_t stop = end == n ? strlen(text) : MAX(text_common(before, text), at);
        printf("%s%.*s%s", spans[i] < 0 ? "" : colours[(size_t)spans[i] % G_N_ELEMENTS(colours)], (int)(stop - at),
               text + at, spans[i] < 0 ? "" : PLAIN);
        at = stop;
    }
    printf("\n");
    return true;
}

bool print_spans(const ObjectiveConfig *config, const Example *example, const Tokenizer *tok, GError **error)
{
    g_autofree int32_t *tokens = g_new(int32_t, config->raw_length), *spans = g_new(int32_t, config->raw_length);
    int64_t n = span_corruption_splice(config, example, tokens, spans);
    if (n < 0)
        return true;
    g_autofree char *text = tokenizer_decode(tok, tokens, n, error);
    if (!text)
        return false;
    printf("text (%" PRId64 ")\n", n);
    if (has_colours())
        return print_runs(tokens, spans, n, text, tok, error);
    printf("%s\n", text);
    return true;
}
