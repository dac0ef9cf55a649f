/* inspect.h: the actions of `loam inspect`. */
#pragma once

#include "base/error.h"

bool inspect_dataset(int argc, char **argv, GError **error);
bool inspect_batch(int argc, char **argv, GError **error);
bool inspect_checkpoint(int argc, char **argv, GError **error);
bool inspect_model(int argc, char **argv, GError **error);
