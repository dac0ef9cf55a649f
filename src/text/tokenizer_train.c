#include "text/tokenizer.h"

#include "base/file.h"
#include "base/philox.h"
#include "text/sentencepiece.h"

#include <string.h>

/* The caller's lines, checked and, if asked for, sampled. */
typedef struct Lines {
    TokenizerLine next;
    void *context;
    int64_t n_read;
    GPtrArray *sample; /* NULL: every line is used as it comes */
    guint at;          /* in the sample */
} Lines;

static bool next_line(void *context, const char **line, size_t *bytes, GError **error)
{
    Lines *lines = context;
    if (!lines->next(lines->context, line, bytes, error))
        return false;
    lines->n_read++;
    if (!g_utf8_validate_len(*line, *bytes, NULL))
        return fail_user(error, "line %" G_GINT64_FORMAT " of the training text is not valid UTF-8", lines->n_read);
    return true;
}

static bool next_sampled(void *context, const char **line, size_t *bytes, GError **error)
{
    (void)error;
    Lines *lines = context;
    if (lines->at == lines->sample->len)
        return false;
    *line = lines->sample->pdata[lines->at++];
    *bytes = strlen(*line); /* UTF-8 that g_utf8_validate_len accepted holds no NUL */
    return true;
}

/* Reservoir sampling (Vitter's algorithm R): every line is as likely to stay as any other. */
static bool fill_sample(Lines *lines, int64_t n, GError **error)
{
    lines->sample = g_ptr_array_new_with_free_func(g_free);
    Philox rng = philox_open(philox_key(0, PHILOX_DOCUMENT_ORDER, 0), 0);
    const char *line;
    size_t bytes;
    GError *wrong = NULL;
    while (next_line(lines, &line, &bytes, &wrong)) {
        uint64_t place = lines->sample->len < n ? lines->sample->len : philox_below(&rng, (uint64_t)lines->n_read);
        if (place >= (uint64_t)n)
            continue;
        char *copy = g_strndup(line, bytes);
        if (place == lines->sample->len) {
            g_ptr_array_add(lines->sample, copy);
        } else {
            g_free(lines->sample->pdata[place]);
            lines->sample->pdata[place] = copy;
        }
    }
    if (wrong)
        g_propagate_error(error, wrong);
    return wrong == NULL;
}

/* The library's two common complaints in words that say what to do. */
static void explain(const TokenizerTraining *training, GError **error)
{
    if (error == NULL || *error == NULL)
        return;
    const char *high = strstr((*error)->message, "value <= "), *low = strstr((*error)->message, "required_chars. ");
    const char *versus = low ? strstr(low, " vs ") : NULL;
    if (high == NULL && versus == NULL)
        return;
    gint64 bound = g_ascii_strtoll(high ? high + strlen("value <= ") : versus + strlen(" vs "), NULL, 10);
    g_clear_error(error);
    if (high)
        fail_user(error, "a vocabulary of %d is too large for this text: at most %" G_GINT64_FORMAT,
                  training->vocab_size, bound);
    else
        fail_user(error,
                  "a vocabulary of %d is too small for the characters of this text: at least %" G_GINT64_FORMAT
                  ", or a lower character coverage (now %g)",
                  training->vocab_size, bound, training->character_coverage);
}

static bool check_training(const TokenizerTraining *training, GError **error)
{
    if (strcmp(training->type, "unigram") != 0 && strcmp(training->type, "bpe") != 0)
        return fail_user(error, "tokenizer type %s is unknown: unigram or bpe", training->type);
    if (training->vocab_size < 8 || training->vocab_size > 1000000)
        return fail_user(error, "a vocabulary of %d is out of range: 8 to 1000000", training->vocab_size);
    if (!(training->character_coverage >= 0.98 && training->character_coverage <= 1))
        return fail_user(error, "a character coverage of %g is out of range: 0.98 to 1", training->character_coverage);
    return true;
}

bool tokenizer_train(const TokenizerTraining *training, TokenizerLine next, void *context, GError **error)
{
    if (!check_training(training, error))
        return false;
    Lines lines = { .next = next, .context = context };
    char *model = NULL;
    size_t bytes = 0;
    bool sampled = training->max_sentences > 0;
    GError *wrong = NULL;
    bool ok = (!sampled || fill_sample(&lines, training->max_sentences, &wrong)) &&
              sentencepiece_train(training, sampled ? next_sampled : next_line, &lines, &model, &bytes, &wrong);
    if (ok)
        ok = io_write_file(training->out, model, bytes, &wrong);
    g_clear_pointer(&lines.sample, g_ptr_array_unref);
    g_free(model);
    explain(training, &wrong);
    if (wrong)
        g_propagate_error(error, wrong);
    return ok;
}
