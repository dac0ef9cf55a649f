/* wordpiece/wordpiece.h: WordPiece, BERT's tokenizer: splits words greedily into the longest pieces of a vocabulary. */
#pragma once

#include "text/kind.h"
#include "text/tokenizer_train.h"

/* WordPiece from a vocab.txt with one piece per line, or from a tokenizer.json. Whether text is lower-cased, accents
 * are removed and Chinese characters are separated is read from the tokenizer_config.json beside vocab.txt; without
 * that file, text is lower-cased unless the vocabulary has capital letters. */
extern const TokenizerKind kind_wordpiece;
extern const TokenizerTrainer trainer_wordpiece;
