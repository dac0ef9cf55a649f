/* vocab_builder/vocab_builder.h: builds a vocabulary by counting words and learning merges; used to train byte-level
 * BPE and WordPiece. */
#pragma once

#include "text/vocab_builder/merge_learner.h"
#include "text/vocab_builder/word_count.h"

#include <glib.h>
#include <jansson.h>

/* A merge of two pieces. */
typedef struct VocabMerge {
    int32_t left, right; /* ids of the two pieces */
} VocabMerge;

typedef struct VocabBuilder {
    const TokenizerTraining *training;
    const char *prefix; /* prefix of pieces inside a word: "##" for WordPiece, "" for BPE */
    GPtrArray *names;   /* char *: the pieces, indexed by id */
    GHashTable *ids;    /* piece -> id + 1 */
    GArray *merges;     /* VocabMerge in the order in which they were learned */
    int n_specials;     /* ids 0 to n_specials - 1 are special tokens */
    WordTable words;    /* the words of the texts, after vocab_builder_count */
} VocabBuilder;

/* Initialises a vocabulary of special tokens: training->special_tokens or, if that is NULL, default_specials
 * (NULL-terminated). Call vocab_builder_clear also after a failure. */
bool vocab_builder_init(VocabBuilder *builder, const TokenizerTraining *training, const char *prefix,
                        const char *const *default_specials, GError **error);
void vocab_builder_clear(VocabBuilder *builder);
int32_t vocab_builder_add(VocabBuilder *builder, const char *name); /* id of a piece; a missing piece is added */
/* Id of a piece; -1 if there is no such piece. */
int32_t vocab_builder_id(const VocabBuilder *builder, const char *name);
/* Writes a tokenizer_config.json into training->out: the special tokens, their roles, and the keys of `config`, whose
 * reference is taken over. */
bool vocab_builder_write_config(const VocabBuilder *builder, json_t *config, GError **error);
/* Counts the words of all texts, with word_count, in builder->words. */
bool vocab_builder_count(VocabBuilder *builder, const WordSplitter *splitter, TokenizerText next, void *context,
                         GError **error);
/* Learns merges until the vocabulary has training->vocab_size pieces; then adds training->sentinels sentinels. A pair
 * is not merged if the result would be a special token, or longer than training->max_piece. */
void vocab_builder_learn(VocabBuilder *builder, MergeLearner *learner);
