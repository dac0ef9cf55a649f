/* weights.h: writes the weights of the languages of a corpus, with sum 1, to OUT_weights.json (or AST-T5's
 * data_weights.json): {"python": 0.4, "text": 0.1, …}. data.train accepts the path of such a file
 * (data/language_weights.h). */
#pragma once

#include "data/prepare/prepare.h"

/* Writes the file at prepare_weights_path. A language without training documents is left out. */
bool prepare_weights_write(const PrepareOptions *options, const PrepareStats *stats, GError **error);
