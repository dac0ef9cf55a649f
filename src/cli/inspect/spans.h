/* spans.h: prints the text of a sample with its masked spans in colour. */
#pragma once

#include "data/loader.h"

/* Prints the original text of a sample, restored from its inputs and targets. On a terminal masked spans are coloured,
 * unless NO_COLOR is set in the environment. Prints nothing if inputs and targets do not match. */
bool print_spans(const ObjectiveConfig *config, const Example *example, const Tokenizer *tok, GError **error);
