/* init.h: the distributions of initial weights: one rule per parameter, which model.init and model.init_std modify. */
#pragma once

#include "model/config/config.h"
#include "param/param.h"

/* The rules as model.init = t5 (T5X) applies them; for other values of model.init see init.c. A matrix is (out, in). */
typedef enum InitRule {
    RULE_ZEROS,
    RULE_ONES,
    RULE_UNIT,             /* normal, std 1 */
    RULE_EMBEDDING,        /* RULE_UNIT, for the embedding, which may also be the projection to the vocabulary */
    RULE_HEAD,             /* RULE_FAN_IN_TRUNCATED, for the projection to the vocabulary */
    RULE_FAN_IN,           /* normal, std in^-1/2 */
    RULE_FAN_IN_TRUNCATED, /* truncated normal, std in^-1/2 */
    RULE_OUTPUT,           /* RULE_FAN_IN, for a sublayer's last matrix, whose output is added to the residual stream */
    RULE_OUTPUT_TRUNCATED, /* RULE_FAN_IN_TRUNCATED, for a sublayer's last matrix */
    RULE_AREA,             /* normal, std (in · out)^-1/2 */
    RULE_QUERY, /* normal, std (in · head_dim)^-1/2, which includes the factor head_dim^-1/2 of attention scores; with
                   model.scale_scores, which applies the factor to the scores, std in^-1/2 */
    RULE_GLOROT /* uniform within ± sqrt(6 / (out + in)) */
} InitRule;

/* Sets spec->init and spec->std by the rule and the shape of spec. */
void init_set(ParamSpec *spec, InitRule rule, const ModelConfig *config);
