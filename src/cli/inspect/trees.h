/* trees.h: prints the syntax trees of a dataset. */
#pragma once

#include "data/dataset/dataset.h"

/* Prints the syntax tree of a document, one node per line: its type, its tokens, and, unless tok is NULL, their text.
 * */
bool print_tree(const Dataset *data, int64_t document, const Tokenizer *tok, GError **error);
