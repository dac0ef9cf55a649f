/* frame.h: what stands around a text, by what Hugging Face's files of its tokenizer say. */
#pragma once

#include "text/tokenizer.h"

typedef struct TextFrame {
    int32_t before, after; /* ids; -1: none */
} TextFrame;

/* Of the post-processor in the folder's tokenizer.json or, where there is no such file, of add_bos_token and
 * add_eos_token in its tokenizer_config.json. False where the folder does not say. */
bool text_frame_read(const char *folder, const Tokenizer *tok, TextFrame *frame);
