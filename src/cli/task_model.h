/* task_model.h: what `loam eval --task` and `loam predict` share: the ids of inputs as the model was trained on them.
 */
#pragma once

#include "data/task/task.h"
#include "eval/classify.h"
#include "train/config/config.h"
#include "train/model_path.h"

#define ANSWER_BATCH 32 /* inputs that are answered side by side */

/* Gives the classes of the loaded model the names of an override, such as model.labels=negative,positive. */
bool task_name_classes(const LoadedModel *loaded, char **overrides, int n_overrides, GError **error);
/* The task of the configuration. An error where it names none, or the model writes no text. */
bool task_of_model(Task *task, const Config *config, const LoadedModel *loaded, const char *model_path, GError **error);
TaskEncoder task_encoder(const Task *task, const Config *config, const LoadedModel *loaded);

/* Inputs that are answered together. */
typedef struct AnswerBatch {
    GArray *ids, *cu; /* int32_t: tokens of all inputs; cumulative lengths */
    /* Of a classifier, in place of these: */
    Classify *classify;        /* opened by the first run */
    GArray *examples, *inputs; /* TaskExample, whose texts are the caller's; TaskInputs */
} AnswerBatch;

AnswerBatch answer_batch_new(void);
void answer_batch_free(AnswerBatch *batch);
void answer_batch_clear(AnswerBatch *batch);
int32_t answer_batch_count(const AnswerBatch *batch);
/* Appends an input; record may be NULL. The example's texts must stay until the batch is run. */
bool answer_batch_add(AnswerBatch *batch, TaskEncoder *encoder, const Record *record, const TaskExample *example,
                      GError **error);
/* out (answer_batch_count), answer_clear. */
bool answer_batch_run(AnswerBatch *batch, const LoadedModel *loaded, const TaskEncoder *encoder,
                      const AnswerOptions *options, Answer *out, GError **error);
