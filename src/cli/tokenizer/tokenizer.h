/* tokenizer.h: the actions of `loam tokenizer` that have files of their own. */
#pragma once

#include "base/error.h"

bool verb_tokenizer_train(int argc, char **argv, GError **error);
/* Fails if the folder holds a tokenizer of another kind than `new_kind`: its files would be mixed with the new ones. */
bool tokenizer_check_folder(const char *folder, const char *new_kind, GError **error);
