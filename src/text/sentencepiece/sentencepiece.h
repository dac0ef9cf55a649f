/* sentencepiece/sentencepiece.h: SentencePiece's models: .model files of any type, and unigram models of a
 * tokenizer.json. */
#pragma once

#include "text/kind.h"
#include "text/trainer.h"

G_BEGIN_DECLS

extern const TokenizerKind kind_sentencepiece; /* spiece.model */
extern const TokenizerKind kind_unigram;       /* a tokenizer.json whose model.type is Unigram; no other file */
extern const TokenizerTrainer trainer_sentencepiece_unigram, trainer_sentencepiece_bpe;

G_END_DECLS
