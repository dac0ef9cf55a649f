/* weights.h: OUT_weights.json, or AST-T5's data_weights.json: {"python": 0.4, "text": 0.1, …}, the weight of each
 * language, with sum 1. data.train accepts the path of such a file (data/sources.h). */
#pragma once

#include "data/prepare/prepare.h"

/* A language without documents to train on is left out. */
bool prepare_weights_write(const PrepareOptions *options, const PrepareStats *stats, GError **error);
