/* trainer.h: what a kind of tokenizer that can be trained provides. A new one is one file and one row of the table in
 * tokenizer_train.c. */
#pragma once

#include "text/roles.h"

/* Options that only some kinds have. */
enum {
    TRAINER_LINES = 1 << 0, /* max_sentences, character_coverage, byte_fallback */
    TRAINER_WORDS = 1 << 1, /* min_frequency, sentinels, max_piece, memory, workers */
    TRAINER_BERT = 1 << 2,  /* lowercase, limit_alphabet */
};

typedef struct TokenizerTrainer {
    const char *name;      /* TokenizerFacts.name of what it makes */
    unsigned options;      /* of those above */
    const char *file_name; /* what is opened in the folder that it writes; NULL: it writes a file */
    TokenSpelling spelling;
    /* Writes training->out, a file or into a folder that exists. */
    bool (*train)(const TokenizerTraining *training, TokenizerText next, void *context, GError **error);
} TokenizerTrainer;

extern const TokenizerTrainer trainer_sentencepiece_unigram, trainer_sentencepiece_bpe, trainer_byte_bpe,
    trainer_wordpiece;
