/* fairseq_identity.h: writes a dictionary of fairseq in which every piece of a tokenizer has the same id as in the
 * tokenizer. */
#pragma once

#include "text/tokenizer.h"

/* Writes FOLDER/dict.txt. Line i, counted from 0, has the piece with id i + 4 and its count, since fairseq gives the
 * ids 0 to 3 to <s>, <pad>, </s> and <unk>. If the tokenizer has other pieces at the ids 0 to 3, a warning names them.
 * counts: (tokenizer_size) the count of each id. */
bool fairseq_identity_write(const Tokenizer *tok, const char *folder, const int64_t *counts, GError **error);
