/* special.h: what single tasks do by other means than templates; and the parts of a plain example, which they share. */
#pragma once

#include "data/task/task.h"

/* Fills a template. *missing becomes true where the record lacks one of its fields, and *out NULL. */
bool example_fill(const Task *task, const Record *record, const char *template, char **out, bool *missing,
                  GError **error);
/* Sets the input from the task's template; a missing field is an error. */
bool example_take_input(const Task *task, const Record *record, TaskExample *out, GError **error);
/* Sets the targets and whether they are known. */
bool example_take_targets(const Task *task, const Record *record, TaskExample *out, GError **error);
/* Whether the record has texts for the fields of a template, and all of them are white space: an empty cell. */
bool example_is_blank(const Record *record, const char *template);
/* The label of a value as the target has it. g_free; NULL means that it is none of the task's labels. */
char *example_label(const Task *task, const char *value);

/* STS-B: round(5 y) / 5 with one digit, in f32 with halves to even; NULL for text that is no number. */
char *round_fifth(const char *text);
/* MultiRC: <br> becomes a space, <b> and </b> go. */
char *strip_markup(const char *field, char *text);
bool multirc_make(const Task *task, const Record *record, TaskExample *out, GError **error);
/* ReCoRD: the entities are cut out of the passage, each once, sorted; @highlight lines become sentences. */
bool record_task_make(const Task *task, const Record *record, TaskExample *out, GError **error);
/* WSC: "wsc: … *pronoun* …" with the candidate referent as the target; only right ones are trained on. A prediction is
 * "True" where its words without determiners are a subset of the candidate's, or the other way round. */
bool wsc_make(const Task *task, const Record *record, TaskExample *out, GError **error);
void wsc_grade(const TaskExample *example, char **prediction, GPtrArray *references);
/* CNN/Daily Mail: a line end after each " . ", which ROUGE-Lsum takes for the end of a sentence. */
void break_sentences(const TaskExample *example, char **prediction, GPtrArray *references);
/* Hyperpartisan news, as t5-experiments: a prediction is "true" if it is that word in any case, without punctuation and
 * articles; anything else is "false". */
void true_or_false(const TaskExample *example, char **prediction, GPtrArray *references);
/* CodeXGLUE: white space of programs becomes single spaces, none at the ends, as its run.py does. */
char *single_spaces(const char *field, char *text);
/* CodeXGLUE: white space at the ends of predictions and references does not count. */
void strip_ends(const TaskExample *example, char **prediction, GPtrArray *references);
