/* trainer.h: a kind of tokenizer that can be trained: an entry of the list in tokenizer_train.c. */
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
    const char *name;       /* TokenizerFacts.name of the tokenizers that it trains */
    unsigned options;       /* set of TRAINER_…: the groups of options that it accepts */
    const char *file_name;  /* the file to open in the folder that it writes; NULL means that it writes a single file */
    TokenSpelling spelling; /* how it spells the special tokens of a family (roles.h) */
    /* Trains on the texts of `next` and writes training->out: a file, or files in an existing folder. */
    bool (*train)(const TokenizerTraining *training, TokenizerText next, void *context, GError **error);
} TokenizerTrainer;
