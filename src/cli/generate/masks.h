/* masks.h: `loam generate` with a model of family bert, which predicts masked tokens. */
#pragma once

#include "cli/prompts.h"

/* Prints one line per prompt: for every mask in it the most likely tokens and their probabilities. */
bool fill_mask_lines(Model *model, const Tokenizer *tok, int32_t mask, PromptReader *reader, bool as_json,
                     GError **error);
