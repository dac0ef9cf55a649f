/* ranking.h: the options --rank and --no-eos of the verbs that answer the inputs of a task. */
#pragma once

#include "eval/rank.h"

#include <jansson.h>

/* by: the value of --rank; NULL means that it is not given. */
bool ranking_check_options(const char *by, bool no_eos, int64_t beams, GError **error);
/* The log-probability of each label by its name; NULL where the model wrote the answer. */
json_t *ranking_logprobs(const Ranking *ranking, const Answer *answer);
