/* special_tokens.h: the special tokens of a model. token_roles.h: the ids that start and end generated text;
 * text_frame.h: the tokens around the texts that the model reads. */
#pragma once

#include "model/special_tokens/text_frame.h"
#include "model/special_tokens/token_roles.h"
