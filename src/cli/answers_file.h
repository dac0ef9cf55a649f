/* answers_file.h: a file of a model's answers, JSON lines in the order of the inputs, which an interrupted run leaves
 * and the same command goes on with. Each answer says under "of" which model gave it to which input, as a hash. */
#pragma once

#include "train/model_path.h"

#include <glib.h>
#include <jansson.h>

/* A hash of the weights as they are computed with, the options of the model, the tokenizer, and `settings`: what else
 * decides about answers, as text. */
uint64_t model_hash(const LoadedModel *loaded, const char *settings);

typedef struct AnswersFile AnswersFile;
/* Opens the file of answers at this path, which is made if missing and belongs to this process until it is closed. A
 * file that another process writes answers to, or whose first bytes are of no answer, is an error; a device or a FIFO
 * is written to and not read. model: model_hash; source: what the inputs come from, for errors. Both texts must outlive
 * the file. */
AnswersFile *answers_file_open(const char *answers, uint64_t model, const char *source, GError **error);
/* *answer is the stored answer to the next input (json_decref), or NULL where the stored answers have come to their
 * end. An error where the next line is no answer, another model's or to another input; the file is then unchanged. */
bool answers_file_next(AnswersFile *file, const char *input, size_t bytes, json_t **answer, GError **error);
/* Appends the answer to an input for which answers_file_next has found none; takes the object. */
bool answers_file_add(AnswersFile *file, json_t *answer, const char *input, size_t bytes, GError **error);
/* Answers that were stored before, as far as they were asked for. */
int64_t answers_file_stored(const AnswersFile *file);
/* good: all inputs are answered; then it is an error where the file has more answers than there were inputs. */
bool answers_file_close(AnswersFile *file, bool good, GError **error);
/* What an answer says under "of": model and input as 16 hexadecimal digits. g_free. */
char *answer_owner(uint64_t model, const char *input, size_t bytes);
