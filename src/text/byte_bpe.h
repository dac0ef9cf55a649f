/* byte_bpe.h: byte-level BPE, the tokenizer of GPT-2 and its successors. */
#pragma once

#include "text/kind.h"

extern const TokenizerKind kind_byte_bpe; /* vocab.json with merges.txt beside it, or tokenizer.json */
extern const TokenizerKind kind_tiktoken; /* lines of "base64 rank" */

/* Pieces are written in GPT-2's 256 visible characters, one for each byte: "Ġthe". Both return g_free'd text. */
char *byte_bpe_name(const char *bytes, size_t n);
/* NULL for a name with any other character; *n may be NULL. */
char *byte_bpe_bytes(const char *name, size_t *n);
