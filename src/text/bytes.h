/* bytes.h: ByT5's tokenizer. Ids 0, 1 and 2 are pad, eos and unk; byte b has the id b + 3; the last 125 ids are
 * sentinels. */
#pragma once

#include "text/kind.h"

#define BYTES_PATH "bytes" /* the path that means ByT5's tokenizer (tokenizer_open) */
#define BYTES_FILE "{\"tokenizer_class\": \"ByT5Tokenizer\"}\n" /* content of its tokenizer_config.json */

extern const TokenizerKind kind_bytes;
