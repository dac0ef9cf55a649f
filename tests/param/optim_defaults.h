/* optim_defaults.h: the options of an optimizer, as tests of optimizers begin with them. */
#pragma once

#include "param/optim.h"

static inline OptimConfig optim_defaults(OptimKind kind)
{
    return (OptimConfig){ .name = (int)kind,
                          .lr = 1e-3,
                          .beta1 = -1,
                          .beta2 = -1,
                          .eps = -1,
                          .eps1 = 1e-30,
                          .eps2 = 1e-3,
                          .clip_threshold = 1,
                          .decay_rate = 0.8,
                          .scale_parameter = true,
                          .factored = true,
                          .decay_by_lr = true,
                          .momentum = 0.95,
                          .muon_scale = MUON_MATCH_RMS_ADAMW,
                          .matrix_lr = 1 };
}
