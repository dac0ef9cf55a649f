/* post_processor.h: the special tokens that Hugging Face's tokenizers put around a text. */
#pragma once

#include "text/tokenizer.h"

typedef struct PostProcessor {
    int32_t before, after; /* ids; -1 means no token */
} PostProcessor;

/* Reads them from post_processor of the folder's tokenizer.json or, without that file, from add_bos_token and
 * add_eos_token of its tokenizer_config.json. False if the folder does not tell. */
bool post_processor_read(const char *folder, const Tokenizer *tok, PostProcessor *around);
