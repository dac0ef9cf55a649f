/* trained_pieces.h: a vocabulary that grows by merges: what the trainers of byte-level BPE and of WordPiece share. */
#pragma once

#include "text/merge_learner.h"
#include "text/word_count.h"

#include <glib.h>
#include <jansson.h>

typedef struct TrainedPieces {
    const TokenizerTraining *training;
    const char *prefix; /* of pieces that go on with a word: "" or "##" */
    GPtrArray *names;   /* char *, by id */
    GHashTable *ids;    /* name -> id + 1 */
    GArray *merges;     /* TrainedMerge, in the order of their making */
    int n_specials;     /* they come first */
} TrainedPieces;

typedef struct TrainedMerge {
    int32_t left, right;
} TrainedMerge;

/* With the special tokens of the training, or else with `standard` (NULL-terminated); pieces must be cleared also where
 * it fails. */
bool trained_pieces_init(TrainedPieces *pieces, const TokenizerTraining *training, const char *prefix,
                         const char *const *standard, GError **error);
void trained_pieces_clear(TrainedPieces *pieces);
/* Id of a piece, made if there was none. */
int32_t trained_pieces_add(TrainedPieces *pieces, const char *name);
int32_t trained_pieces_id(const TrainedPieces *pieces, const char *name); /* -1 if there is none */
/* Writes a tokenizer_config.json that names the special tokens and their roles, with what is in `config`, whose
 * reference it takes. */
bool trained_pieces_write_config(const TrainedPieces *pieces, json_t *config, GError **error);
/* The words of the texts, of which there must be one; the caller has initialised `words`. */
bool trained_pieces_count(const TrainedPieces *pieces, const WordSplitter *splitter, WordTable *words,
                          TokenizerText next, void *context, GError **error);
/* Fills the vocabulary with merges, and puts the sentinels on top where they were asked for. A pair that would make a
 * special token, or too long a piece, is left alone. */
void trained_pieces_learn(TrainedPieces *pieces, MergeLearner *learner);
