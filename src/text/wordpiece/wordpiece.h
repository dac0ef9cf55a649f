/* wordpiece/wordpiece.h: WordPiece, BERT's tokenizer: words are split greedily into the longest pieces of a vocabulary.
 */
#pragma once

#include "text/kind.h"
#include "text/trainer.h"

/* vocab.txt, one piece a line, or a tokenizer.json. Lower-casing, accent stripping and the treatment of Chinese
 * characters are read from the tokenizer_config.json beside vocab.txt; without that file a vocabulary with capital
 * letters is cased. */
extern const TokenizerKind kind_wordpiece;
extern const TokenizerTrainer trainer_wordpiece;
