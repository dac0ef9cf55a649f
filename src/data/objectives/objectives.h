/* objectives.h: the way into data/objectives: the table of training objectives, and the parts of single objectives that
 * others use. */
#pragma once

#include "data/objectives/clm.h"
#include "data/objectives/mlm.h"
#include "data/objectives/span_corruption.h"

extern const char *const objective_names[];

/* NULL if there is none of that name. */
const Objective *objective_find(const char *name);
/* Its index in objective_names, or -1. */
int objective_index(const char *name);
/* The objective at this index of objective_names, in the form for a decoder alone where it has one and that is asked
 * for. */
const Objective *objective_for(int index, bool decoder_alone);
/* Of the rows that carry the loss, about how many have a target. */
double objective_target_share(const Objective *objective, const ObjectiveConfig *config);
