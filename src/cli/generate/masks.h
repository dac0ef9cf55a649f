/* masks.h: `loam generate` with a model of family bert. */
#pragma once

#include "cli/prompts.h"

/* Answers each prompt with one line: for every mask in it the most likely tokens and their probabilities. */
bool fill_mask_lines(Model *model, const Tokenizer *tok, int32_t mask, PromptReader *reader, bool as_json,
                     GError **error);
