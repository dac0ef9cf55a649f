/* generation_defaults.h: how `loam generate` answers: what the command line says, else what the model's
 * generation_config.json says, else greedy decoding of 64 tokens. */
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

/* Sets what is unset. `model`: TokenRoles.generation, may be NULL; encodes: whether it has an encoder. *used and
 * *unused: the model's settings that hold now, and those that change nothing here ("top_p 0.9, …"); g_free. */
bool generation_defaults(GenerationSettings *settings, const json_t *model, bool encodes, char **used, char **unused,
                         GError **error);
