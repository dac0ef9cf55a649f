/* bytes.h: ByT5's tokenizer: id = byte + 3. */
#pragma once

#include "text/kind.h"

#define BYTES_PATH "bytes"                                      /* what tokenizer_open takes for it */
#define BYTES_FILE "{\"tokenizer_class\": \"ByT5Tokenizer\"}\n" /* a tokenizer_config.json that says the same */

extern const TokenizerKind kind_bytes;
