/* objectives.h: the header of data/objectives for files outside it: the list of training objectives and their settings.
 */
#pragma once

#include "data/objectives/labelled.h"
#include "data/objectives/mlm.h"
#include "data/objectives/span_corruption.h"
#include "data/objectives/subtree_corruption.h"

/* Of clm and full_lm. */
typedef struct ClmSettings {
    bool reset_attention; /* attention does not cross the end of a document */
    bool reset_position;  /* position ids start again at 0 with every document */
    bool mask_eod;        /* no loss where the input token is the EOS that ends a document */
} ClmSettings;

/* The settings of all objectives; most structs are declared in the objective's own header. */
typedef struct ObjectiveSettings {
    SpanCorruptionSettings span_corruption;
    SubtreeCorruptionSettings subtree_corruption;
    ClmSettings clm;
    MlmSettings mlm;
} ObjectiveSettings;

/* Names of all objectives, NULL after the last. An objective's index in this list identifies it (data.objective). */
extern const char *const objective_names[];

/* The objective with this index. decoder_alone: true means its variant for decoder-only models, if it has one. */
const Objective *objective_for(int index, bool decoder_alone);
/* A configuration for the objective with this index: the objective's settings in `own`; all other fields are 0. */
ObjectiveConfig objective_config(int index, const ObjectiveSettings *settings);
/* Appends the option groups of all objectives (OptionGroup); offset: byte offset of the ObjectiveSettings in the whole
 * configuration. */
void objective_options(GArray *groups, size_t offset);
