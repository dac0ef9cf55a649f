/* tokenizer.h: the actions of `loam tokenizer` that have files of their own. */
#pragma once

#include "base/error.h"

bool verb_tokenizer_train(int argc, char **argv, GError **error);
