/* wordpiece/wordpiece.h: WordPiece, BERT's tokenizer: words are split greedily into the longest pieces of a vocabulary.
 */
#pragma once

#include "text/kind.h"
#include "text/trainer.h"

/* A vocab.txt with one piece per line, or a tokenizer.json. Lower-casing, accent stripping and the treatment of Chinese
 * characters are read from the tokenizer_config.json beside vocab.txt; without that file, text is lower-cased unless
 * the vocabulary has capital letters. */
extern const TokenizerKind kind_wordpiece;
extern const TokenizerTrainer trainer_wordpiece;
