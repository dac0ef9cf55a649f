/* prepare_lines.h: loam prepare --format fairseq without a tokenizer. */
#pragma once

#include "data/fairseq_lines.h"

#include <stdbool.h>

/* Runs and prints what was made. */
bool prepare_lines(const FairseqLinesOptions *options, bool as_json, GError **error);
