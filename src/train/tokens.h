/* tokens.h: the special tokens that an objective and a model want of a tokenizer. */
#pragma once

#include "train/config.h"

/* Fails where the objective cannot do without a token that is missing; warns of tokens whose place others take, or that
 * the exported model will lack. */
bool tokens_check(const Config *config, const Tokenizer *tok, GError **error);
