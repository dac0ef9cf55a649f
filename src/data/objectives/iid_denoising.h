/* iid_denoising.h: denoising with independent masking: every token is masked independently with probability
 * noise_density; each run of consecutive masked tokens is replaced by one sentinel, as in span corruption. */
#pragma once

#include "data/objectives/objective.h"

extern const Objective iid_denoising_objective;
