/* byte_bpe/byte_bpe.h: byte-level BPE, the tokenizer of GPT-2, RoBERTa, Llama 3 and others. */
#pragma once

#include "text/kind.h"
#include "text/trainer.h"

extern const TokenizerKind kind_byte_bpe; /* vocab.json with merges.txt beside it, or a tokenizer.json */
extern const TokenizerKind kind_tiktoken; /* a rank file of tiktoken: lines of "base64 rank" */
extern const TokenizerTrainer trainer_byte_bpe;

/* Pieces are sequences of bytes. Files spell each byte as one visible Unicode character, by GPT-2's table: the piece
 * " the" has the name "Ġthe". */
char *byte_bpe_name(const char *bytes, size_t n); /* the name of a piece; free with g_free */
/* The bytes of a piece, *n of them (n may be NULL); NULL if the name has a character outside the table. Free with
 * g_free. */
char *byte_bpe_bytes(const char *name, size_t *n);
