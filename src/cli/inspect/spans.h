/* spans.h: the text of a sample with its masked spans in colour. */
#pragma once

#include "data/loader.h"

/* Prints the text that inputs and targets make together. On a terminal masked spans are coloured, equal spans alike;
 * not with NO_COLOR in the environment. Prints nothing where inputs and targets do not fit together. */
bool print_spans(const ObjectiveConfig *config, const Example *example, const Tokenizer *tok, GError **error);
