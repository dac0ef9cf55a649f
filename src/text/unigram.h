/* unigram.h: SentencePiece's unigram models, segmented without the library: the same sums of floats in the same order,
 * hence its ids, ties included. For the models that lie in a tokenizer.json. */
#pragma once

#include "text/kind.h"

/* There is no file of this kind but tokenizer.json. */
extern const TokenizerKind kind_unigram;
