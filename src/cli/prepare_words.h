/* prepare_words.h: loam prepare --format fairseq without a tokenizer. */
#pragma once

#include "data/fairseq_words.h"

#include <stdbool.h>

/* Runs and prints what was made. */
bool prepare_words(const FairseqWordsOptions *options, bool as_json, GError **error);
