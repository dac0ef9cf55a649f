/* fairseq_identity.h: a dictionary of fairseq for the ids of a tokenizer as they are. */
#pragma once

#include "text/tokenizer.h"

/* Writes FOLDER/dict.txt: line i is id i + 4 of the tokenizer with its count, since fairseq takes the ids 0 to 3 for
 * <s>, <pad>, </s> and <unk>; a warning says where the tokenizer has others. counts: (tokenizer_size). */
bool fairseq_identity_write(const Tokenizer *tok, const char *folder, const int64_t *counts, GError **error);
