/* trainer.h: a kind of tokenizer that can be trained, as a row of the table in tokenizer_train.c. */
#pragma once

#include "text/roles.h"
#include "text/tokenizer_train.h"

/* Groups of options of TokenizerTraining that only some trainers have. */
enum {
    TRAINER_LINES = 1 << 0, /* max_sentences, character_coverage, byte_fallback */
    TRAINER_WORDS = 1 << 1, /* min_frequency, sentinels, max_piece, memory, workers */
    TRAINER_BERT = 1 << 2,  /* lowercase, limit_alphabet */
};

typedef struct TokenizerTrainer {
    const char *name;      /* TokenizerFacts.name of the tokenizers that it trains */
    unsigned options;      /* groups of options, of the enum above, that it accepts */
    const char *file_name; /* the file to open in the folder that it writes; NULL means that it writes a single file */
    TokenSpelling spelling;
    /* Trains on the texts of `next` and writes training->out: a file, or files in a folder that exists. */
    bool (*train)(const TokenizerTraining *training, TokenizerText next, void *context, GError **error);
} TokenizerTrainer;
