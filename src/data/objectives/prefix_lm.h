/* prefix_lm.h: prefix language modelling: a chunk of a document is divided at a random token. With an encoder (T5's
 * prefix LM), the inputs are the tokens before that token, and the targets are the remaining tokens. In a decoder-only
 * model inputs and targets form one sequence: the inputs (the prefix) attend to each other in both directions, and the
 * last token of the prefix predicts the first target. */
#pragma once

#include "data/objectives/objective.h"

extern const Objective prefix_lm_objective; /* .decoder_alone is the variant for decoder-only models */
