/* lines.h: `loam prepare --format fairseq` without a tokenizer. */
#pragma once

#include "data/prepare/prepare.h"

#include <stdbool.h>

/* Prepares the dataset and prints its statistics. */
bool prepare_lines(const FairseqLinesOptions *options, bool as_json, GError **error);
