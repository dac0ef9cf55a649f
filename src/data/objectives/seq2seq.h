/* seq2seq.h: supervised text-to-text training. A document of the dataset is a pair of sequences, input and target
 * (data/task). With an encoder, the encoder reads the input and the decoder predicts the target. In a decoder-only
 * model input and target form one sequence, and only the tokens of the target and EOS have a loss. */
#pragma once

#include "data/objectives/objective.h"

extern const Objective seq2seq_objective; /* .decoder_alone is the variant for decoder-only models */
