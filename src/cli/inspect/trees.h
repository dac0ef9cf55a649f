/* trees.h: the syntax trees of a dataset, for people. */
#pragma once

#include "data/dataset/dataset.h"

/* Prints the tree of a document, a node a line: its type, its tokens, and with a tokenizer their text. */
bool print_tree(const Dataset *data, int64_t document, const Tokenizer *tok, GError **error);
