/* special_tokens.h: the special tokens of a model: token_roles.h says which ids start and end what it generates,
 * text_frame.h which tokens stand around the texts that it reads. */
#pragma once

#include "model/special_tokens/text_frame.h"
#include "model/special_tokens/token_roles.h"
