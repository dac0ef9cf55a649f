/* seq2seq.h: text to text. A document is a pair of sequences, input and target (data/task). With an encoder, the
 * encoder reads the input and the decoder predicts the target. In a decoder-only model both are one sequence, and only
 * the target's tokens and EOS have a loss. */
#pragma once

#include "data/objectives/objective.h"

extern const Objective seq2seq_objective; /* .decoder_alone is the variant for decoder-only models */
