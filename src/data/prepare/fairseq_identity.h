/* fairseq_identity.h: writes a dictionary of fairseq that keeps the ids of a tokenizer. */
#pragma once

#include "text/tokenizer.h"

/* Writes FOLDER/dict.txt: line i is id i + 4 of the tokenizer with its count, since in fairseq the ids 0 to 3 are <s>,
 * <pad>, </s> and <unk>. A warning names those of the four ids that are other tokens in the tokenizer. counts:
 * (tokenizer_size). */
bool fairseq_identity_write(const Tokenizer *tok, const char *folder, const int64_t *counts, GError **error);
