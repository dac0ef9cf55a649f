/* advice.h: what a configuration that is legal will probably not do as its author hopes, in warnings. */
#pragma once

#include "train/config.h"

/* total: steps of the run, -1 where they are not known; warmup: its warm-up in steps. */
void advice_give(const Config *config, int64_t warmup, int64_t total);
