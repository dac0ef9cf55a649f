/* answers_file.h: a file of a model's answers, one JSON line per input in the order of the inputs. If a command is
 * interrupted, the same command continues the file. The key "of" of each answer holds a hash of model and input. */
#pragma once

#include "run/model_path.h"

/* A hash of everything that determines answers: the weights in the dtype of the computation, the model's options, the
 * tokenizer, and `settings`, all other settings as text. */
uint64_t model_hash(const LoadedModel *loaded, const char *settings);

typedef struct AnswersFile AnswersFile;
/* Opens the file `answers`, creates it if missing, and locks it until it is closed. It is an error if another process
 * has locked it, or if it begins with something other than an answer. A device or a FIFO is only written to. model:
 * model_hash; source: name of the inputs for error messages. Both texts must outlive the AnswersFile. */
AnswersFile *answers_file_open(const char *answers, uint64_t model, const char *source, GError **error);
/* *answer becomes the stored answer to the next input (json_decref), or NULL if there are no more stored answers. A
 * last line that a crash cut off is removed and counts as missing. It is an error if the next line is not an answer, or
 * belongs to another model or another input; the file then stays unchanged. */
bool answers_file_next(AnswersFile *file, const char *input, size_t bytes, json_t **answer, GError **error);
/* Appends the answer to an input for which answers_file_next found none. Takes ownership of `answer`. */
bool answers_file_add(AnswersFile *file, json_t *answer, const char *input, size_t bytes, GError **error);
/* Number of stored answers that answers_file_next returned. */
int64_t answers_file_stored(const AnswersFile *file);
/* good means that all inputs are answered; it is then an error if the file has more answers than there were inputs. */
bool answers_file_close(AnswersFile *file, bool good, GError **error);
/* The value of "of" in an answer: the hash of model and input as 16 hexadecimal digits. g_free. */
char *answer_owner(uint64_t model, const char *input, size_t bytes);
