/* task_model.h: shared by `loam eval` and `loam predict`: the configuration of a trained model that a path names, its
 * task, and the encoding of its inputs as in training. */
#pragma once

#include "cli/cli.h"
#include "eval/answer_batch.h"
#include "eval/rank.h"
#include "run/config/config.h"
#include "run/model_path.h"

/* For a run directory (also RUN@best, RUN@1000, and a checkpoint in it): the configuration that the run saved. For any
 * other model: the defaults of its family or head, as with train.init=MODEL, except that model_max_length of a folder's
 * tokenizer_config.json limits the texts of a classifier; for a checkpoint, a line says so. Overrides
 * ("group.key=value") are applied last; an override of model.* (except model.labels) or of lora.* is an error. The
 * caller passes a zeroed Config and frees it with config_clear, also after an error. */
bool cli_model_config(Config *config, const char *path, char **overrides, int n_overrides, GError **error);
/* How the length of answers is set if `name` is what other programs call it: data.target_length=20 for max-new-tokens
 * and 20. g_free; NULL means another name. */
char *cli_answer_length(const char *name, const char *value);

/* Opens the model at `path` as `config` says, which cli_model_config made. If an override sets model.labels
 * (model.labels=negative,positive), renames its classes. needs_text: it is an error if there is no tokenizer. */
bool cli_open_model(LoadedModel *loaded, const char *path, const Config *config, bool needs_text, char **overrides,
                    int n_overrides, GError **error);
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
    CLI_VALUE("rank", to, "sum|bytes|tokens",                                                                          \
              when "choose the most likely label: by its log-probability (sum), divided by its bytes (bytes) or by "   \
                   "its tokens (tokens)")
/* Checks the options. by: the value of --rank; NULL means that it was not given. */
bool ranking_check_options(const char *by, bool no_eos, int64_t beams, GError **error);
/* A JSON object with the log-probability of each label; NULL if the model generated the answer. json_decref. */
json_t *ranking_logprobs(const Ranking *ranking, const Answer *answer);
