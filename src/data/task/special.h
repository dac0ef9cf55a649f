/* special.h: functions of single tasks that templates cannot express; and the steps of making a plain example, which
 * these functions share. */
#pragma once

#include "data/task/task.h"

/* Fills a template. If the record lacks one of its fields, *missing becomes true and *out NULL. */
bool example_fill(const Task *task, const Record *record, const char *template, char **out, bool *missing,
                  GError **error);
/* Sets the input from the task's template; a missing field is an error. */
bool example_take_input(const Task *task, const Record *record, TaskExample *out, GError **error);
/* Sets the targets and whether they are known. */
bool example_take_targets(const Task *task, const Record *record, TaskExample *out, GError **error);
/* Whether the record has texts for all fields of a template, and all are white space, as in an empty cell. */
bool example_is_blank(const Record *record, const char *template);
/* The label for a value, as the target spells it. g_free; NULL means that the value is none of the task's labels. */
char *example_label(const Task *task, const char *value);

/* STS-B: round(5 y) / 5 with one digit, computed in f32, rounding half to even; NULL if the text is no number. */
char *round_fifth(const char *text);
/* MultiRC: replaces <br> by a space and removes <b> and </b>. */
char *strip_markup(const char *field, char *text);
bool multirc_make(const Task *task, const Record *record, TaskExample *out, GError **error);
/* ReCoRD: entities are taken from the passage, without duplicates, sorted; @highlight lines become sentences. */
bool record_task_make(const Task *task, const Record *record, TaskExample *out, GError **error);
/* WSC: the input is "wsc: … *pronoun* …", the target the candidate referent; only examples with a right candidate are
 * trained on. A prediction counts as "True" if its words without determiners are a subset of the candidate's, or vice
 * versa. */
bool wsc_make(const Task *task, const Record *record, TaskExample *out, GError **error);
void wsc_grade(const TaskExample *example, char **prediction, GPtrArray *references);
/* CNN/Daily Mail: puts a line end after each " . ", since ROUGE-Lsum separates sentences at line ends. */
void break_sentences(const TaskExample *example, char **prediction, GPtrArray *references);
/* Hyperpartisan news, as t5-experiments: a prediction is "true" if it is that word in any case, without punctuation and
 * articles; anything else is "false". */
void true_or_false(const TaskExample *example, char **prediction, GPtrArray *references);
/* CodeXGLUE: replaces white space of programs by single spaces and removes it at the ends, as CodeXGLUE's run.py does.
 */
char *single_spaces(const char *field, char *text);
/* CodeXGLUE: removes white space at the ends of predictions and references. */
void strip_ends(const TaskExample *example, char **prediction, GPtrArray *references);
