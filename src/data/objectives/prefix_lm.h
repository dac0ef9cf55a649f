/* prefix_lm.h: prefix language modelling: a chunk of a document is divided at a random token. With an encoder, the
 * inputs are the tokens before this point and the targets the tokens after it (T5's prefix LM). In a decoder-only model
 * both are one sequence: the tokens before the point attend to each other in both directions, and the last of them
 * predicts the first token after it. */
#pragma once

#include "data/objectives/objective.h"

extern const Objective prefix_lm_objective; /* .decoder_alone is the variant for decoder-only models */
