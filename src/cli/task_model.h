/* task_model.h: shared by `loam eval --task` and `loam predict`: the task of a loaded model, and the encoding of its
 * inputs as in training. */
#pragma once

#include "cli/cli.h"
#include "eval/answer_batch.h"
#include "eval/rank.h"
#include "run/config/config.h"
#include "run/model_path.h"

/* If an override sets model.labels (model.labels=negative,positive), renames the classes of the loaded model. */
bool task_name_classes(const LoadedModel *loaded, char **overrides, int n_overrides, GError **error);
/* Reads the configured task. Fails if none is configured, or if the model can neither generate text nor classify. */
bool task_of_model(Task *task, const Config *config, const LoadedModel *loaded, const char *model_path, GError **error);
/* All settings that determine the answers to a task's inputs, besides the model, as text for model_hash: the options
 * task.* except its files, the lengths and the number of beams. g_free. */
char *task_settings(const Config *config, const TaskEncoder *encoder, int64_t beams);
/* Calls config_task_encoder for the loaded model. */
TaskEncoder task_encoder(const Task *task, const Config *config, const LoadedModel *loaded);

/* ---- the options --rank and --no-eos ---- */

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
