#include "text/tokenizer_train.h"

#include "base/text.h"
#include "text/byte_bpe/byte_bpe.h"
#include "text/sentencepiece/sentencepiece.h"
#include "text/wordpiece/wordpiece.h"

#include <inttypes.h>
#include <string.h>

#define LIBRARY "sentencepiece-" /* prefix of a trainer's name that the user may omit */

static const TokenizerTrainer *const trainers[] = { &trainer_sentencepiece_unigram, &trainer_sentencepiece_bpe,
                                                    &trainer_byte_bpe, &trainer_wordpiece };

static const TokenizerTrainer *find_trainer(const char *type)
{
    g_autofree char *whole = g_strconcat(LIBRARY, type, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(trainers); i++)
        if (strcmp(trainers[i]->name, type) == 0 || strcmp(trainers[i]->name, whole) == 0)
            return trainers[i];
    return NULL;
}

static bool fail_unknown_type(const char *type, GError **error)
{
    enum { N = G_N_ELEMENTS(trainers) };
    const char *names[2 * N + 1] = { NULL };
    for (size_t i = 0; i < N; i++)
        names[i] = trainers[i]->name;
    g_autofree char *list = g_strjoinv(", ", (char **)names);
    for (size_t i = 0; i < N; i++) /* "unigram" is accepted for "sentencepiece-unigram" */
        names[N + i] = names[i] + (g_str_has_prefix(names[i], LIBRARY) ? strlen(LIBRARY) : 0);
    const char *nearest = text_nearest(type, names);
    if (nearest)
        return fail_user(error, "a tokenizer of kind %s cannot be trained, did you mean %s?", type, nearest);
    return fail_user(error, "a tokenizer of kind %s cannot be trained: one of %s", type, list);
}

/* Options that the trainer does not have are an error rather than ignored. */
static bool check_trainer_options(const TokenizerTrainer *trainer, const TokenizerTraining *training, GError **error)
{
    const struct {
        const char *name;
        unsigned option;
        bool given;
    } options[] = {
        { "max-sentences", TRAINER_LINES, training->max_sentences != 0 },
        { "character-coverage", TRAINER_LINES, training->character_coverage != 0 },
        { "byte-fallback", TRAINER_LINES, training->byte_fallback },
        { training->sentinels == TOKENIZER_SENTINELS ? "sentinels" : "sentinel-count", TRAINER_WORDS,
          training->sentinels != 0 },
        { "min-frequency", TRAINER_WORDS, training->min_frequency != 0 },
        { "max-piece", TRAINER_WORDS, training->max_piece != 0 },
        { "memory", TRAINER_WORDS, training->memory != 0 },
        { "workers", TRAINER_WORDS, training->workers != 0 },
        { "lowercase", TRAINER_BERT, training->lowercase },
        { "limit-alphabet", TRAINER_BERT, training->limit_alphabet != 0 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        if (options[i].given && !(trainer->options & options[i].option))
            return fail_user(error, "--%s is not for tokenizers of kind %s", options[i].name, trainer->name);
    return true;
}

static bool check_training_ranges(const TokenizerTraining *training, GError **error)
{
    const struct {
        const char *name;
        int64_t value, low, high;
    } ranges[] = {
        { "a vocabulary", training->vocab_size, 8, 1000000 },
        { "a sample", training->max_sentences, 0, INT64_MAX },
        { "a least frequency", training->min_frequency, 0, INT64_MAX },
        { "a longest piece", training->max_piece, 0, INT32_MAX },
        { "a memory (MiB)", training->memory, 0, TOKENIZER_MAX_MEMORY },
        { "an alphabet", training->limit_alphabet, 0, INT32_MAX },
        { "a number of workers", training->workers, 0, 4096 },
        { "a number of sentinels", training->sentinels ? training->sentinels : TOKENIZER_SENTINELS, TOKENIZER_SENTINELS,
          TOKENIZER_MAX_SENTINELS },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++)
        if (ranges[i].value < ranges[i].low || ranges[i].value > ranges[i].high)
            return fail_user(error, "%s of %" PRId64 " is out of range: %" PRId64 " to %" PRId64, ranges[i].name,
                             ranges[i].value, ranges[i].low, ranges[i].high);
    return true;
}

/* Fills in the special tokens and sentinels of training->family, unless others were given. */
static bool take_family(const TokenizerTrainer *trainer, TokenizerTraining *training, GError **error)
{
    if (training->family) {
        const TokenFamily *family = token_family_find(training->family, error);
        if (family == NULL)
            return false;
        if (family->sentinels && training->sentinels == 0)
            training->sentinels = TOKENIZER_SENTINELS;
        if (training->special_tokens == NULL)
            training->special_tokens = family->special_tokens[trainer->spelling];
    }
    return training->special_tokens == NULL || token_roles_check(training->special_tokens, error);
}

bool tokenizer_train(const TokenizerTraining *training, TokenizerText next, void *context, GError **error)
{
    const TokenizerTrainer *trainer = find_trainer(training->type);
    if (trainer == NULL)
        return fail_unknown_type(training->type, error);
    TokenizerTraining with_family = *training;
    return check_trainer_options(trainer, training, error) && check_training_ranges(training, error) &&
           take_family(trainer, &with_family, error) && trainer->train(&with_family, next, context, error);
}

const char *tokenizer_trained_file(const char *type)
{
    const TokenizerTrainer *trainer = find_trainer(type);
    return trainer ? trainer->file_name : NULL;
}

const char *tokenizer_trained_kind(size_t i)
{
    return i < G_N_ELEMENTS(trainers) ? trainers[i]->name : NULL;
}
