/* cluster.h: the header of train/cluster for files outside it: predictions of training on other machines. */
#pragma once

#include "train/cluster/cost.h"
#include "train/cluster/layouts.h"
#include "train/cluster/machine.h"
