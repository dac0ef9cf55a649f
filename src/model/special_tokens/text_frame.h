/* text_frame.h: the special tokens around the texts of a model. */
#pragma once

#include "model/config/config.h"
#include "text/tokenizer.h"

/* The tokens that are added before and after each text that a model reads, in pre-training on pairs, tasks, prompts,
 * few-shot prompts and exported tokenizers. "Frame" means these tokens:
 * - a decoder-only model has the part of the tokenizer's frame before a text (<s> of a Llama), and nothing after the
 *   text, since generation continues there;
 * - an encoder has the tokenizer's frame or, if that does not both begin and end a text, [CLS] A [SEP] by the
 *   tokenizer's roles; pairs are <s> A </s></s> B </s> if the roles are RoBERTa's and the model has no token types;
 * - a T5 has the tokenizer's frame if that ends a text with EOS, else A </s>. If it has a decoder, targets have the
 *   same tokens around them. */
TextFrame model_text_frame(const ModelConfig *config, const Tokenizer *tok);
