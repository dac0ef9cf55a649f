/* sentencepiece/sentencepiece.h: tokenizers of SentencePiece: any .model file, and a tokenizer.json with Unigram. */
#pragma once

#include "text/kind.h"
#include "text/tokenizer_train.h"

#define SP_SPACE "\xe2\x96\x81" /* U+2581 "▁", which stands for a space in pieces */

extern const TokenizerKind kind_sentencepiece; /* a .model file (spiece.model) */
extern const TokenizerKind kind_unigram;       /* only a tokenizer.json whose model.type is Unigram */
extern const TokenizerKind kind_char_bpe; /* only a tokenizer.json with a BPE that merges characters, as Llama 2's */
extern const TokenizerTrainer trainer_sentencepiece_unigram, trainer_sentencepiece_bpe;
int sp_byte_of(const char *piece); /* the byte that a byte piece stands for: 0x41 for "<0x41>"; -1 for other pieces */
