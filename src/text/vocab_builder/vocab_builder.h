/* vocab_builder/vocab_builder.h: builds a vocabulary by counting words and learning merges: the common part of training
 * byte-level BPE and WordPiece. */
#pragma once

#include "text/vocab_builder/merge_learner.h"
#include "text/vocab_builder/word_count.h"

#include <glib.h>
#include <jansson.h>

typedef struct VocabMerge {
    int32_t left, right; /* ids of the two pieces */
} VocabMerge;

typedef struct VocabBuilder {
    const TokenizerTraining *training;
    const char *prefix; /* prefix of pieces inside a word: "##" for WordPiece, "" for BPE */
    GPtrArray *names;   /* char *: pieces, indexed by id */
    GHashTable *ids;    /* piece -> id + 1 */
    GArray *merges;     /* VocabMerge in the order in which they were learned */
    int n_specials;     /* ids 0 to n_specials - 1 are special tokens */
    WordTable words;    /* the words of the texts, after vocab_builder_count */
} VocabBuilder;

/* Initialises the vocabulary with the special tokens: training->special_tokens or, if that is NULL, default_specials
 * (NULL-terminated). Call vocab_builder_clear on failure too. */
bool vocab_builder_init(VocabBuilder *builder, const TokenizerTraining *training, const char *prefix,
                        const char *const *default_specials, GError **error);
void vocab_builder_clear(VocabBuilder *builder);
int32_t vocab_builder_add(VocabBuilder *builder, const char *name);      /* id of a piece, which is added if missing */
int32_t vocab_builder_id(const VocabBuilder *builder, const char *name); /* -1 if there is no such piece */
/* Writes a tokenizer_config.json into training->out: the special tokens, their roles, and the keys of `config`, whose
 * reference is taken. */
bool vocab_builder_write_config(const VocabBuilder *builder, json_t *config, GError **error);
/* Counts the words of all texts (word_count). */
bool vocab_builder_count(VocabBuilder *builder, const WordSplitter *splitter, TokenizerText next, void *context,
                         GError **error);
/* Learns merges until the vocabulary has training->vocab_size pieces; then adds training->sentinels sentinels. Pairs
 * that would make a special token or a piece longer than training->max_piece are not merged. */
void vocab_builder_learn(VocabBuilder *builder, MergeLearner *learner);
