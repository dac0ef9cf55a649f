/* byte_bpe/byte_bpe.h: byte-level BPE, the tokenizer of GPT-2, RoBERTa, Llama 3 and others. */
#pragma once

#include "text/kind.h"
#include "text/tokenizer_train.h"

extern const TokenizerKind kind_byte_bpe; /* vocab.json with merges.txt beside it, or a tokenizer.json */
extern const TokenizerKind kind_tiktoken; /* a rank file of tiktoken: lines of "base64 rank" */
extern const TokenizerTrainer trainer_byte_bpe;

/* The name of a piece in files. A piece is a sequence of bytes; its name has one visible Unicode character for each
 * byte, by GPT-2's table: the piece " the" has the name "Ġthe". Free with g_free. */
char *byte_bpe_name(const char *bytes, size_t n);
/* The bytes of the piece with this name, the inverse of byte_bpe_name; *n, unless n is NULL, becomes their number. NULL
 * if the name has a character that is not in the table. Free with g_free. */
char *byte_bpe_bytes(const char *name, size_t *n);
