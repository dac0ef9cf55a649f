/* seq2seq.h: text to text. A document is a pair of sequences, input and target (data/task). With an encoder the input
 * goes into the encoder and the target is predicted. On a decoder alone both are one sequence, and only the target's
 * tokens and EOS have a loss. */
#pragma once

#include "data/objectives/objective.h"

extern const Objective seq2seq_objective; /* .decoder_alone is the form for a decoder alone */
