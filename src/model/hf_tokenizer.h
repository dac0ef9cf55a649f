/* hf_tokenizer.h: the tokenizer files of a Hugging Face folder. */
#pragma once

#include "model/model_config.h"
#include "text/tokenizer.h"

/* Writes tokenizer.json, tokenizer_config.json and special_tokens_map.json, with which AutoTokenizer of transformers 4
 * and 5 gives the same ids, and the tokenizer's own files: spiece.model, vocab.txt, or vocab.json and merges.txt. The
 * roles of special tokens and what stands around a text are as the model was trained with them; model NULL: as the
 * tokenizer has them by itself. */
bool hf_write_tokenizer(const char *folder, const Tokenizer *tok, const ModelConfig *model, GError **error);
