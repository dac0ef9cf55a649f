/* sentencepiece/sentencepiece.h: tokenizers of SentencePiece: any .model file, and a tokenizer.json with Unigram. */
#pragma once

#include "text/kind.h"
#include "text/tokenizer_train.h"

extern const TokenizerKind kind_sentencepiece; /* a .model file (spiece.model) */
extern const TokenizerKind kind_unigram;       /* only a tokenizer.json whose model.type is Unigram */
extern const TokenizerKind kind_char_bpe; /* only a tokenizer.json with a BPE that merges characters, as Llama 2's */
extern const TokenizerTrainer trainer_sentencepiece_unigram, trainer_sentencepiece_bpe;
