/* model_files.h: a hash that tells whether two hosts have the same model. */
#pragma once

#include <stdint.h>

/* A hash of the model that PATH names (model_path.h): the names, sizes, and first and last MiB of its files of weights
 * and of its configuration, which is read in milliseconds whatever the size. The tokenizer is left out. 0 means that
 * there is no model. */
uint64_t model_files_hash(const char *path);
