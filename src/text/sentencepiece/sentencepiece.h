/* sentencepiece/sentencepiece.h: the tokenizers of SentencePiece: .model files of any type, and tokenizer.json files
 * with a Unigram model. */
#pragma once

#include "text/kind.h"
#include "text/tokenizer_train.h"

extern const TokenizerKind kind_sentencepiece; /* a .model file (spiece.model) */
extern const TokenizerKind kind_unigram;       /* only a tokenizer.json whose model.type is Unigram */
extern const TokenizerKind kind_char_bpe; /* only a tokenizer.json with a BPE that merges characters, as Llama 2's */
extern const TokenizerTrainer trainer_sentencepiece_unigram, trainer_sentencepiece_bpe;
