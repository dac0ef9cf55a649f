/* clm.h: causal language modelling on a decoder. There are two objectives. clm, as in Megatron: the targets are the
 * inputs shifted by one token, and consecutive samples share one token. full_lm, T5's full language modelling: the
 * targets are the whole sample; the inputs are EOS followed by all targets except the last. */
#pragma once

#include "data/objectives/objective.h"

typedef struct ClmSettings {
    bool reset_attention; /* attention does not cross the end of a document */
    bool reset_position;  /* position ids start again at 0 with every document */
    bool mask_eod;        /* no loss where the input token is the EOS that ends a document */
} ClmSettings;
