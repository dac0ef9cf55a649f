/* clm.h: causal language modelling on a decoder. clm: the targets are the inputs shifted by one token, and consecutive
 * samples share one token (Megatron). full_lm: the targets are the whole sample, and the inputs are EOS and the targets
 * without the last one (T5's full language modelling). */
#pragma once

#include "data/objectives/objective.h"

typedef struct ClmSettings {
    bool reset_attention; /* attention does not cross the end of a document */
    bool reset_position;  /* position ids start again with every document */
    bool mask_eod;        /* no loss at tokens whose input is the end of a document */
} ClmSettings;

extern const Objective clm_objective, full_lm_objective;
