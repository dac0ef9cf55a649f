/* prefix_lm.h: prefix language modelling: a chunk of a document is cut at a random token. With an encoder the inputs
 * are the tokens before the cut and the targets the tokens after it (T5's prefix LM). On a decoder alone both are one
 * sequence: the tokens before the cut attend to each other in both directions, and the last of them predicts the first
 * token after it. */
#pragma once

#include "data/objectives/objective.h"

extern const Objective prefix_lm_objective; /* .decoder_alone is the form for a decoder alone */
