/* iid_denoising.h: denoising with independent masking: every token is masked with probability noise_density by itself;
 * runs of masked tokens become sentinels, as in span corruption. */
#pragma once

#include "data/objectives/objective.h"

extern const Objective iid_denoising_objective;
