/* wordpiece.h: BERT's tokenizer: words are split greedily into the longest pieces of a vocabulary. */
#pragma once

#include "text/bert_text.h"
#include "text/kind.h"

/* vocab.txt, a piece a line. Whether it is cased and how it treats accents and Chinese characters is read from the
 * tokenizer_config.json beside it; without one, a vocabulary with capital letters is cased. */
extern const TokenizerKind kind_wordpiece;

typedef struct WordPieceOptions {
    const char *unk;    /* the piece of words that cannot be split; "[UNK]" */
    const char *prefix; /* of pieces that go on with a word; "##" */
    int max_chars;      /* longer words are unknown; at most BERT_TEXT_MAX_CHARS */
    BertTextOptions text;
} WordPieceOptions;

#define WORDPIECE_CHARS 100 /* max_chars, where nothing else is said */

/* A model of kind_wordpiece, to be closed by it. `pieces` (char *, owned by the array) becomes the model's, also where
 * it fails. */
void *wordpiece_open(GPtrArray *pieces, const WordPieceOptions *options, TokenizerFacts *facts, GError **error);
/* What the model was opened with; its strings live as long as it does. */
const WordPieceOptions *wordpiece_options(const void *model);
