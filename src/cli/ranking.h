/* ranking.h: the options --rank and --no-eos, which `loam eval --task` and `loam predict` share. */
#pragma once

#include "eval/rank.h"

#include <jansson.h>

/* Checks the options. by: the value of --rank; NULL means that it was not given. */
bool ranking_check_options(const char *by, bool no_eos, int64_t beams, GError **error);
/* A JSON object with the log-probability of each label; NULL if the model generated the answer. json_decref. */
json_t *ranking_logprobs(const Ranking *ranking, const Answer *answer);
