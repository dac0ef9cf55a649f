/* cluster.h: predictions of training on other machines than this one: what a room outside may include. */
#pragma once

#include "train/cluster/cost.h"
#include "train/cluster/layouts.h"
#include "train/cluster/machine.h"
