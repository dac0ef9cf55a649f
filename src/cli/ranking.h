/* ranking.h: the options --rank and --no-eos, which `loam eval --task` and `loam predict` share. */
#pragma once

#include "cli/cli.h"
#include "eval/rank.h"

#include <jansson.h>

/* The row of --rank in a table of options; cli/cli.h. when: what its help begins with. */
#define CLI_RANK(to, when)                                                                                             \
    CLI_VALUE("rank", to,                                                                                              \
              when "choose the most likely label: by its log-probability (sum), divided by its bytes (bytes) or by "   \
                   "its tokens (tokens)",                                                                              \
              "sum|bytes|tokens")
/* Checks the options. by: the value of --rank; NULL means that it was not given. */
bool ranking_check_options(const char *by, bool no_eos, int64_t beams, GError **error);
/* A JSON object with the log-probability of each label; NULL if the model generated the answer. json_decref. */
json_t *ranking_logprobs(const Ranking *ranking, const Answer *answer);
