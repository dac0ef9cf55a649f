/* inspect.h: the actions of `loam inspect` that have files of their own. */
#pragma once

#include "base/error.h"

bool inspect_dataset(int argc, char **argv, GError **error);
bool inspect_ngrams(int argc, char **argv, GError **error);
bool inspect_batch(int argc, char **argv, GError **error);
