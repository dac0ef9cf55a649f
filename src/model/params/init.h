/* init.h: how initial weights are drawn: one rule per parameter, read as model.init and model.init_std say. */
#pragma once

#include "model/config/config.h"
#include "param/param.h"

/* Rules of model.init = t5 (T5X); other values of model.init replace the distributions. A matrix is (out, in). */
typedef enum InitRule {
    RULE_ZEROS,
    RULE_ONES,
    RULE_UNIT,             /* normal, std 1 */
    RULE_EMBEDDING,        /* RULE_UNIT, of the embedding, which may also be the projection to the vocabulary */
    RULE_HEAD,             /* RULE_FAN_IN_TRUNCATED, of the projection to the vocabulary */
    RULE_FAN_IN,           /* normal, std in^-1/2 */
    RULE_FAN_IN_TRUNCATED, /* truncated normal, std in^-1/2 */
    RULE_OUTPUT,           /* RULE_FAN_IN, of a sublayer's last matrix, whose product is added to the residual stream */
    RULE_OUTPUT_TRUNCATED, /* RULE_FAN_IN_TRUNCATED, of a sublayer's last matrix */
    RULE_AREA,             /* normal, std (in · out)^-1/2 */
    RULE_QUERY,            /* normal, std (in · head_dim)^-1/2, which replaces the factor head_dim^-1/2 of the scores;
                              with model.scale_scores, which has that factor, std in^-1/2 */
    RULE_GLOROT            /* uniform within ± sqrt(6 / (out + in)) */
} InitRule;

/* Sets spec->init and spec->std from spec's shape. */
void init_set(ParamSpec *spec, InitRule rule, const ModelConfig *config);
