/* answers.c: whether evaluations between steps generate answers, and how long these may be, so that the memory plan of
 * a run includes generation. */
#include "base/text.h"
#include "data/language_weights.h"
#include "data/sources.h"
#include "eval/answer_batch.h"
#include "run/config/config.h"
#include "run/task_set.h"

#include <string.h>

#define MOST_TOKENS 128 /* longest answer if data.target_length is 0 */

int64_t config_answer_length(const Config *config)
{
    const DataConfig *data = &config->data;
    const int64_t half = MAX(data->input_length / 2, 1);
    if (data->target_length == 0)
        return MIN(MOST_TOKENS, half);
    /* Runs of earlier versions of loam may have targets that leave no token to the input of a decoder-only model. */
    return config->model.n_enc == 0 && data->target_length >= data->input_length ? half : data->target_length;
}

void config_share_length(Config *config)
{
    DataConfig *data = &config->data;
    if (config->model.n_enc > 0 || config->model.classifier != LABELS_NONE)
        return;
    config->most_target = data->target_length;
    data->target_length = MIN(data->target_length, MAX(data->input_length / 2, 1));
}

/* Whether the task of the options task.* has held-out examples. Also true if its files cannot be read: the run then
 * fails with an error anyway. */
static bool own_is_scored(const TaskConfig *config)
{
    Task task;
    TaskFile train, valid;
    if (!task_configure(&task, config, NULL) || !task_files(&task, config, &train, &valid, NULL))
        return true;
    const bool found = valid.path != NULL;
    g_free(train.path);
    g_free(valid.path);
    return found;
}

/* Whether one of the datasets of data.valid was made from a task (run/task_set.h). */
static bool set_is_scored(const char *valid)
{
    g_autofree char *list = language_weights_is(valid) ? language_weights_list(valid, true, NULL) : g_strdup(valid);
    g_auto(GStrv) items = text_list(list);
    bool found = false;
    for (char **item = items; *item && !found; item++) {
        TaskConfig config = { 0 };
        const char *text = *item;
        const size_t n = sources_valid_name(text);
        task_set_read(n > 0 ? text + n + 1 : text, &config, &found, NULL);
        task_set_clear(&config);
    }
    return found;
}

static bool writes_answers(const Config *config)
{
    if (config->model.n_dec == 0 || config->task.classifies ||
        (!config->train.scores && strcmp(config->train.best, "loss") == 0))
        return false;
    return task_is_set(&config->task) ? own_is_scored(&config->task) : set_is_scored(config->data.valid);
}

void config_set_answers(const Config *config, Model *model)
{
    /* Longest prompt. A decoder-only model has prompt and answer in one sequence; the prompt gets at least one token.
     */
    const int64_t longest = config_answer_length(config),
                  length = MAX(config->data.input_length - (config->model.n_enc > 0 ? 0 : longest), 1);
    if (writes_answers(config))
        model_set_answers(model, ANSWER_BATCH, (int32_t)length, (int32_t)longest);
}
