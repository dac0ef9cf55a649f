/* answer_batch.h: collects encoded inputs of a task; the model then answers many of them in one batch: by generation,
 * by ranking labels, or by its classifier. */
#pragma once

#include "eval/classify.h"

#define ANSWER_BATCH 32 /* most inputs that are answered in one batch */

/* Encoded inputs, in the order in which they were added. */
typedef struct AnswerBatch {
    GArray *ids, *cu; /* int32_t: tokens of all inputs; cumulative lengths */
    /* Used instead of ids and cu if the model has a classifier: */
    Classify *classify;        /* opened by the first run */
    GArray *examples, *inputs; /* TaskExample, whose texts are borrowed from the caller; TaskInputs */
} AnswerBatch;

AnswerBatch answer_batch_new(void);
void answer_batch_free(AnswerBatch *batch);
void answer_batch_clear(AnswerBatch *batch);          /* removes all inputs */
int32_t answer_batch_count(const AnswerBatch *batch); /* number of inputs */
/* Encodes an input and appends it. record: the record that it comes from, for error messages; may be NULL. The
 * example's texts must stay valid until answer_batch_run. */
bool answer_batch_add(AnswerBatch *batch, TaskEncoder *encoder, const Record *record, const TaskExample *example,
                      GError **error);
/* Answers the inputs first … first + n - 1. out (n): free each with answer_clear. */
bool answer_batch_run(AnswerBatch *batch, int32_t first, int32_t n, Model *model, const TaskEncoder *encoder,
                      const AnswerOptions *options, Answer *out, GError **error);
