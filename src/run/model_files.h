/* model_files.h: a hash that tells whether two hosts have the same model. */
#pragma once

#include <stdint.h>

/* A hash of the model that PATH names (model_path.h): of the names and all bytes of its files of weights and of its
 * configuration, which takes as long as reading them. The tokenizer is left out. 0 means that there is no model. */
uint64_t model_files_hash(const char *path);
