/* defaults.h: the settings of `loam generate`: from the command line, otherwise from the model's
 * generation_config.json, otherwise greedy decoding of 64 tokens. */
#pragma once

#include "base/error.h"

#include <float.h>
#include <jansson.h>
#include <stdint.h>

#define COUNT_UNSET INT64_MIN
#define REAL_UNSET  (-DBL_MAX)

typedef struct GenerationSettings {
    int64_t max_tokens, beams, top_k;
    double temperature, top_p, repetition_penalty;
} GenerationSettings;

#define GENERATION_SETTINGS_UNSET                                                                                      \
    {                                                                                                                  \
        COUNT_UNSET, COUNT_UNSET, COUNT_UNSET, REAL_UNSET, REAL_UNSET, REAL_UNSET                                      \
    }

/* Fills the unset fields. model: TokenRoles.generation, may be NULL; encodes: whether the model has an encoder. *used
 * and *unused become texts that list the settings of generation_config.json that apply, and those that have no effect
 * ("top_p 0.9, …"); settings that the command line overrides are in neither. g_free both. */
bool generation_defaults(GenerationSettings *settings, const json_t *model, bool encodes, char **used, char **unused,
                         GError **error);
