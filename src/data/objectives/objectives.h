/* objectives.h: the way into data/objectives: the list of training objectives, the settings of those that have some,
 * and the parts of single objectives that others use. */
#pragma once

#include "data/objectives/clm.h"
#include "data/objectives/labelled.h"
#include "data/objectives/mlm.h"
#include "data/objectives/span_corruption.h"
#include "data/objectives/subtree_corruption.h"

/* The settings of all objectives, each in the struct of its own file. */
typedef struct ObjectiveSettings {
    SpanCorruptionSettings span_corruption;
    SubtreeCorruptionSettings subtree_corruption;
    ClmSettings clm; /* of full_lm too */
    MlmSettings mlm;
} ObjectiveSettings;

/* Names in the order of the list, NULL after the last; an objective's index is its index here. */
extern const char *const objective_names[];

/* The objective at an index, in its form for a model without an encoder where decoder_alone is true and there is one.
 */
const Objective *objective_for(int index, bool decoder_alone);
/* A configuration with the settings of an objective in `own`; all else is 0. */
ObjectiveConfig objective_config(int index, const ObjectiveSettings *settings);
/* Appends the option groups of all objectives (OptionGroup); `offset` is where an ObjectiveSettings lies in the
 * configuration. */
void objective_options(GArray *groups, size_t offset);
