/* tokenizer.h: text to token ids and back. One row of a table per kind. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

typedef struct Tokenizer Tokenizer;

#define TOKENIZER_SENTINELS 100

/* What a special token is for. */
typedef enum TokenRole { ROLE_PAD, ROLE_UNK, ROLE_EOS, ROLE_BOS, ROLE_CLS, ROLE_SEP, ROLE_MASK, TOKEN_ROLES } TokenRole;

/* A file of a tokenizer, a folder that holds one, or "bytes". Tokens that a tokenizer_config.json or added_tokens.json
 * beside the file adds are its own. Sentinels <extra_id_0..99> are those it has; a SentencePiece model in T5's layout
 * (one without a beginning of sequence) that has none gets them. Thread-safe once open. */
Tokenizer *tokenizer_open(const char *path, GError **error);
/* A rank file of tiktoken whose text is split by the pattern of this name: gpt2, cl100k or o200k. */
Tokenizer *tokenizer_open_ranks(const char *path, const char *pattern, GError **error);
/* Puts sentinels above all that is there, <extra_id_i> = size - 1 - i, if it has none; before it is shared. */
void tokenizer_add_sentinels(Tokenizer *tok);
/* The file in a folder that tokenizer_open would read; NULL, with the reason, if there is none or it is refused.
 * g_free. */
char *tokenizer_find(const char *folder, GError **error);
/* Writes the files of the tokenizer into a folder, under the names by which tokenizer_open finds them there; with what
 * was added to it, in a tokenizer_config.json. */
bool tokenizer_copy(const Tokenizer *tok, const char *folder, GError **error);
/* Removes the files that tokenizer_copy of any tokenizer writes. */
bool tokenizer_remove(const char *folder, GError **error);
void tokenizer_close(Tokenizer *tok);
const char *tokenizer_kind(const Tokenizer *tok); /* "sentencepiece-unigram", "sentencepiece-bpe", "wordpiece" */
const char *tokenizer_path(const Tokenizer *tok); /* the file it was read from */
int tokenizer_size(const Tokenizer *tok);         /* with sentinels: T5 32100 */
/* Id of the token of a role, as the model or the files beside it say, or else by the names that such tokens have; -1 if
 * there is none. */
int tokenizer_role(const Tokenizer *tok, TokenRole role);
/* The same for cls, sep and mask of an encoder, which can do without: the first sentinel hides words, the end of a
 * sequence ends a text, and begins it too. */
int tokenizer_encoder_role(const Tokenizer *tok, TokenRole role);
#define tokenizer_pad(tok) tokenizer_role(tok, ROLE_PAD)
#define tokenizer_unk(tok) tokenizer_role(tok, ROLE_UNK)
#define tokenizer_bos(tok) tokenizer_role(tok, ROLE_BOS)
#define tokenizer_eos(tok) tokenizer_role(tok, ROLE_EOS)
int tokenizer_special(const Tokenizer *tok, const char *piece); /* "[MASK]"; -1 if it has no such piece */
int tokenizer_sentinel(const Tokenizer *tok, int index);        /* id of <extra_id_index>; -1 if it has none */
/* xxh3-64 of the tokenizer's files, as 16 hexadecimal digits: what datasets and checkpoints record. */
const char *tokenizer_hash(const Tokenizer *tok);
/* Appends the ids of UTF-8 text to `ids` (GArray of int32_t). No EOS is added. `specials`: special tokens in the text,
 * such as <extra_id_i> and [MASK], are read as such; without it they are plain text (corpora). Tokens that were added
 * and are not special are always found. */
bool tokenizer_encode(const Tokenizer *tok, const char *text, size_t bytes, bool specials, GArray *ids, GError **error);
/* Text of ids; sentinels are shown as <extra_id_i>, pad, eos and ids beyond the vocabulary are left out. g_free. */
char *tokenizer_decode(const Tokenizer *tok, const int32_t *ids, int64_t n, GError **error);
const char *tokenizer_piece(const Tokenizer *tok, int id); /* "▁the"; "<extra_id_3>"; "" for an id without one */

/* Writes a tokenizer.json with which Hugging Face's tokenizers give the same ids; the sentinels are added tokens. */
bool tokenizer_has_json(const Tokenizer *tok); /* whether there is such a form */
bool tokenizer_write_json(const Tokenizer *tok, const char *path, GError **error);
/* The same with a post-processor of the caller's, whose reference it takes; NULL: the tokenizer's own. */
bool tokenizer_write_json_around(const Tokenizer *tok, const char *path, json_t *around, GError **error);

#define TOKENIZER_MAX_MEMORY (32 << 10)

/* What is 0 or NULL is as the kind has it by itself. */
typedef struct TokenizerTraining {
    const char *type; /* "sentencepiece-unigram", "sentencepiece-bpe" or without what is before the dash; "byte-bpe",
                         "wordpiece" */
    int vocab_size;   /* pieces, without sentinels */
    const char *out;  /* SentencePiece: the file that is written; others: the folder, which exists */

    int64_t max_sentences;     /* SentencePiece: lines sampled evenly from the input; 0: all */
    double character_coverage; /* 0.9995 */
    bool byte_fallback;

    const char *family;                /* bert, roberta, t5, gpt: whose special tokens it has */
    const char *const *special_tokens; /* "PIECE" or "ROLE=PIECE", the first pieces, NULL-terminated */
    bool sentinels;                    /* others: T5's 100 on top */
    int64_t min_frequency;             /* of a pair that is merged (2) */
    int max_piece;                     /* the longest, in bytes or characters (any) */
    int64_t memory;                    /* MiB for words and what is learned from them (2048) */
    int workers;                       /* threads that count words; the result is the same for any number */

    bool lowercase;     /* WordPiece: capitals and accents are dropped, in training and by the encoder */
    int limit_alphabet; /* characters that get a piece, the most frequent (1000) */
} TokenizerTraining;
/* The next text, valid until the next call; false at the end (error unset) or on an error, as corpus_next. */
typedef bool (*TokenizerText)(void *context, const char **text, size_t *bytes, GError **error);
/* SentencePiece has T5's layout: pad 0, eos 1, unk 2, no bos. The same texts and settings give the same bytes, whatever
 * the machine's number of cores. */
bool tokenizer_train(const TokenizerTraining *training, TokenizerText next, void *context, GError **error);
/* What a folder made by this type is opened by; NULL if it writes a file, or there is no such type. */
const char *tokenizer_trained_file(const char *type);
