/* kinds.h: the kinds of tokenizers, and the names of files that every kind may have in a folder. */
#pragma once

#include "text/kind.h"

#define N_TOKENIZER_KINDS 6
extern const TokenizerKind *const tokenizer_kinds[N_TOKENIZER_KINDS];

#define JSON_FILE   "tokenizer.json"        /* read by every kind with a json_type */
#define CONFIG_FILE "tokenizer_config.json" /* what other files may add */
