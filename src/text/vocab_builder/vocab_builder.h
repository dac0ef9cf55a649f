/* trained_pieces.h: a vocabulary that grows by merges: what the trainers of byte-level BPE and of WordPiece share. */
#pragma once

#include "text/vocab_builder/merge_learner.h"
#include "text/vocab_builder/word_count.h"

#include <glib.h>
#include <jansson.h>

typedef struct VocabBuilder {
    const TokenizerTraining *training;
    const char *prefix; /* of pieces that go on with a word: "" or "##" */
    GPtrArray *names;   /* char *, by id */
    GHashTable *ids;    /* name -> id + 1 */
    GArray *merges;     /* TrainedMerge, in the order of their making */
    int n_specials;     /* they come first */
} VocabBuilder;

typedef struct TrainedMerge {
    int32_t left, right;
} TrainedMerge;

/* With the special tokens of the training, or else with `standard` (NULL-terminated); pieces must be cleared also where
 * it fails. */
bool vocab_builder_init(VocabBuilder *pieces, const TokenizerTraining *training, const char *prefix,
                        const char *const *standard, GError **error);
void vocab_builder_clear(VocabBuilder *pieces);
/* Id of a piece, made if there was none. */
int32_t vocab_builder_add(VocabBuilder *pieces, const char *name);
int32_t vocab_builder_id(const VocabBuilder *pieces, const char *name); /* -1 if there is none */
/* Writes a tokenizer_config.json that names the special tokens and their roles, with what is in `config`, whose
 * reference it takes. */
bool vocab_builder_write_config(const VocabBuilder *pieces, json_t *config, GError **error);
/* The words of the texts, of which there must be one; the caller has initialised `words`. */
bool vocab_builder_count(const VocabBuilder *pieces, const WordSplitter *splitter, WordTable *words, TokenizerText next,
                         void *context, GError **error);
/* Fills the vocabulary with merges, and puts the sentinels on top where they were asked for. A pair that would make a
 * special token, or too long a piece, is left alone. */
void vocab_builder_learn(VocabBuilder *pieces, MergeLearner *learner);
