/* tokenizer_train.h: trains a tokenizer on text. */
#pragma once

#include "text/roles.h"

#include <stdint.h>

/* Largest value of TokenizerTraining.memory. */
#define TOKENIZER_MAX_MEMORY (32 << 10) /* MiB */

/* How a tokenizer is trained. type, vocab_size and out must be set; in every other field 0 or NULL means the default of
 * the kind of tokenizer. An option that the kind does not have is a user's error. */
typedef struct TokenizerTraining {
    const char *type; /* "sentencepiece-unigram" or "unigram", "sentencepiece-bpe" or "bpe", "byte-bpe", "wordpiece" */
    int vocab_size;   /* number of pieces, without sentinels */
    const char *out;  /* SentencePiece: path of the file to write; other kinds: path of an existing folder */

    /* SentencePiece */
    int64_t max_sentences;     /* number of lines, sampled uniformly from the input; 0 means all lines */
    double character_coverage; /* fraction of the characters of the text that get a piece; default 0.9995 */
    bool byte_fallback;        /* characters without a piece become the pieces of their bytes */

    /* all kinds */
    const char *family;                /* bert, roberta, t5, gpt: the family whose special tokens the tokenizer gets */
    const char *const *special_tokens; /* NULL-terminated: "PIECE" or "ROLE=PIECE": they get the first ids, in order */

    /* byte-level BPE and WordPiece */
    int sentinels;         /* number of sentinels <extra_id_i> above the last piece; 0 means none */
    int64_t min_frequency; /* pairs that occur less often are not merged; default 2 */
    int max_piece;         /* largest length of a piece, in bytes (BPE) or characters (WordPiece); 0 means no limit */
    int64_t memory;        /* memory in MiB for counting words and learning merges; default 2048 */
    int workers; /* number of threads that count words; 0 means one per core; the result does not depend on it */

    /* WordPiece */
    bool lowercase;     /* lower-case text and remove accents, in training and in the trained tokenizer */
    int limit_alphabet; /* number of characters that get a piece, the most frequent ones; default 1000 */
} TokenizerTraining;

/* Sets *text and *bytes to the next text of a corpus, which is valid until the next call. Returns false at the end of
 * the corpus (error unset) or on an error. */
typedef bool (*TokenizerText)(void *context, const char **text, size_t *bytes, GError **error);

/* Trains a tokenizer on the texts of `next` and writes it to training->out. The same texts and settings give the same
 * bytes on any machine. If special_tokens is NULL, SentencePiece models get the special tokens of T5: pad 0, eos 1, unk
 * 2, no bos. */
bool tokenizer_train(const TokenizerTraining *training, TokenizerText next, void *context, GError **error);
/* The i-th of the values that TokenizerTraining.type may have, counted from 0; NULL after the last. */
const char *tokenizer_trained_kind(size_t i);
/* The file to open in the folder that training of this type writes; NULL if the type writes a file or is unknown. */
const char *tokenizer_trained_file(const char *type);

/* ---- a kind of tokenizer that can be trained: an entry of a list in tokenizer_train.c ---- */

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
