/* answer_batch.h: encoded inputs of a task, which a model answers many side by side: by generation, by
 * ranking labels, or by its classifier. */
#pragma once

#include "data/task/task.h"
#include "eval/classify.h"

#define ANSWER_BATCH 32 /* inputs that are answered side by side */

/* Encoded inputs, in the order in which they were added. */
typedef struct AnswerBatch {
    GArray *ids, *cu; /* int32_t: tokens of all inputs; cumulative lengths */
    /* Of a classifier, in place of `ids`: */
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
/* Answers the n inputs from number `first` on. out (n), answer_clear. */
bool answer_batch_run(AnswerBatch *batch, int32_t first, int32_t n, Model *model, const TaskEncoder *encoder,
                      const AnswerOptions *options, Answer *out, GError **error);
