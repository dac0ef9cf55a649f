/* bytes.h: ByT5's tokenizer: the id of a byte is byte + 3; pad, eos and unk are 0, 1 and 2; 125 sentinels come last. */
#pragma once

#include "text/kind.h"

#define BYTES_PATH "bytes"                                      /* tokenizer_open: the path of ByT5's tokenizer */
#define BYTES_FILE "{\"tokenizer_class\": \"ByT5Tokenizer\"}\n" /* its tokenizer_config.json */

extern const TokenizerKind kind_bytes;
