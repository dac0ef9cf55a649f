/* sentencepiece/train.c: trains a SentencePiece model with the library, on the lines of the texts. */
#include "base/file.h"
#include "base/log.h"
#include "base/philox.h"
#include "text/sentencepiece/model.h"
#include "text/sentencepiece/sentencepiece.h"
#include "text/word_table.h"

#include <string.h>

#define DEFAULT_COVERAGE 0.9995

/* The lines of a corpus; with max_sentences a sample of them. */
typedef struct Lines {
    TokenizerText next;
    void *context;
    const char *rest; /* the part of the current text that has not been read */
    size_t rest_bytes;
    int64_t n_read;
    GPtrArray *sample; /* char *; NULL means that all lines are used */
    guint at;          /* index of the next line of the sample */
} Lines;

static bool next_sentence(void *context, const char **line, size_t *bytes, GError **error)
{
    Lines *lines = context;
    while (lines->rest_bytes == 0)
        if (!lines->next(lines->context, &lines->rest, &lines->rest_bytes, error)) {
            if (*error == NULL)
                log_info("%" G_GINT64_FORMAT " lines read; training", lines->n_read);
            return false;
        }
    const char *end = memchr(lines->rest, '\n', lines->rest_bytes);
    *line = lines->rest;
    *bytes = end ? (size_t)(end - lines->rest) : lines->rest_bytes;
    lines->rest += *bytes + (end != NULL);
    lines->rest_bytes -= *bytes + (end != NULL);
    lines->n_read++;
    if (!g_utf8_validate_len(*line, *bytes, NULL))
        return fail_user(error, "line %" G_GINT64_FORMAT " of the training text is not valid UTF-8", lines->n_read);
    return true;
}

static bool next_sampled(void *context, const char **line, size_t *bytes, G_GNUC_UNUSED GError **error)
{
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
    while (next_sentence(lines, &line, &bytes, &wrong)) {
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
    return wrong == NULL || fail_with(error, wrong);
}

/* Replaces two common errors of the library by messages that say what to change. */
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

/* A .model file stores the roles pad, unk, bos and eos; tokens of other roles must have the names of convention. */
static bool check_specials(const char *const *entries, GError **error)
{
    bool unknown = false;
    for (; *entries; entries++) {
        const char *piece, *name;
        TokenRole given = token_role_parse(*entries, &piece), role = token_role_of(piece, &name);
        unknown |= given == ROLE_UNK || (given == TOKEN_ROLES && role == ROLE_UNK);
        if (given >= ROLE_CLS && given < TOKEN_ROLES && given != role)
            return fail_user(error, "a SentencePiece model cannot say that \"%s\" is %s: name it %s", piece,
                             token_role_key(given), token_role_pieces(given)[0]);
    }
    return unknown || fail_user(error, "the special tokens lack <unk>, which stands for unknown characters");
}

/* The type is "sentencepiece-bpe" or "bpe"; the library's name is the part after the dash. */
static bool train_sentencepiece(const TokenizerTraining *asked, TokenizerText next, void *context, GError **error)
{
    TokenizerTraining training = *asked;
    const char *dash = strchr(training.type, '-'), *type = dash ? dash + 1 : training.type;
    if (training.special_tokens && !check_specials(training.special_tokens, error))
        return false;
    if (training.character_coverage == 0)
        training.character_coverage = DEFAULT_COVERAGE;
    if (!(training.character_coverage >= 0.98 && training.character_coverage <= 1))
        return fail_user(error, "a character coverage of %g is out of range: 0.98 to 1", training.character_coverage);
    Lines lines = { .next = next, .context = context };
    char *model = NULL;
    size_t bytes = 0;
    int64_t left_out = 0;
    bool sampled = training.max_sentences > 0;
    GError *wrong = NULL;
    bool ok = (!sampled || fill_sample(&lines, training.max_sentences, &wrong)) &&
              sp_library_train(type, &training, sampled ? next_sampled : next_sentence, &lines, &model, &bytes,
                               &left_out, &wrong) &&
              word_table_report_long(left_out, LONG_WORD_TEXT, true, &wrong);
    if (ok)
        ok = io_write_file(training.out, model, bytes, &wrong);
    g_clear_pointer(&lines.sample, g_ptr_array_unref);
    g_free(model);
    explain(&training, &wrong);
    if (wrong)
        g_propagate_error(error, wrong);
    return ok;
}

const TokenizerTrainer trainer_sentencepiece_unigram = { "sentencepiece-unigram", TRAINER_LINES, NULL,
                                                         SPELLING_SENTENCEPIECE, train_sentencepiece };
const TokenizerTrainer trainer_sentencepiece_bpe = { "sentencepiece-bpe", TRAINER_LINES, NULL, SPELLING_SENTENCEPIECE,
                                                     train_sentencepiece };
