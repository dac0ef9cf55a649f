/* kinds.h: the table of all kinds of tokenizers. */
#pragma once

#include "text/kind.h"

/* A file whose name tells nothing is read as tokenizer_kinds[0], SentencePiece. */
#define N_TOKENIZER_KINDS 6
extern const TokenizerKind *const tokenizer_kinds[N_TOKENIZER_KINDS];
