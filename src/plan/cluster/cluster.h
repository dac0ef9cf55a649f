/* cluster.h: the header of plan/cluster for files outside it: predictions of training on other machines. */
#pragma once

#include "plan/cluster/cost.h"
#include "plan/cluster/layouts.h"
#include "plan/cluster/machine.h"
