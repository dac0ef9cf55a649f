/* text_frame.h: the special tokens around the texts of a model. */
#pragma once

#include "model/config/config.h"
#include "text/tokenizer.h"

/* The one answer for pre-training on pairs, tasks, heads, prompts, few-shot prompts and exports:
 * - a decoder has what the tokenizer's frame puts before a text (<s> of a Llama), and nothing after it, since it goes
 * on from there;
 * - an encoder has the tokenizer's frame or, where that does not begin and end a text, [CLS] A [SEP] by the tokenizer's
 *   roles; <s> A </s></s> B </s> for pairs if the roles are RoBERTa's and the model has no token types;
 * - a T5 has the tokenizer's frame if that ends a text with EOS, else A </s>. Where it has a decoder, targets have the
 *   same tokens around them. */
TextFrame model_text_frame(const ModelConfig *config, const Tokenizer *tok);
