/* special.h: functions that make or judge examples of single benchmarks, for what templates cannot express; and what
 * the files of this folder share: the steps of making an ordinary example, and checks of its labels. */
#pragma once

#include "data/task/task.h"

/* Sets *out to a template filled with the fields of a record; to NULL if the record lacks one of them. */
bool example_fill(const Task *task, const Record *record, const char *template, char **out, GError **error);
/* Sets out->input from the task's template; a field that the record lacks is an error. */
bool example_take_input(const Task *task, const Record *record, TaskExample *out, GError **error);
/* Sets out->targets and out->known. */
bool example_take_targets(const Task *task, const Record *record, TaskExample *out, GError **error);
/* Whether the record has all fields of a template, and all these fields are only white space, as an empty cell is. */
bool example_is_blank(const Record *record, const char *template);
/* The name in the task's `labels` for the value of a target. g_free. NULL means that it is none of them. */
char *example_label(const Task *task, const char *value);
/* Fails because example_label has no name for the value of this field. */
bool example_fail_label(const Task *task, const Record *record, const char *field, const char *value, GError **error);

/* Whether an id (int32_t) is that of the unknown token. */
bool task_has_unknown(const Tokenizer *tok, const GArray *ids);

/* Number of cells of a table's first row that are called as their column, if options or the task name the columns and
 * nothing says whether the file has a header: probably the row is one. 0 for other files. */
size_t task_named_cells(const RecordSource *source, RecordFormat format, const Record *record);

/* Sets the error for a label that is not in `classes` (names separated by commas); returns false. */
bool label_fail(const TaskConfig *config, const char *classes, const char *where, const char *name, GError **error);
/* Parses a label of LABELS_VALUE (regression). Fails unless the text is a finite number. */
bool label_parse_value(const char *where, const char *text, float *value, GError **error);
/* The values of LABELS_VALUE that are trained on; starts as { 0 }. */
typedef struct TaskValues {
    int64_t n;
    double sum, squares, least, most;
} TaskValues;
void task_values_add(TaskValues *values, const char *text);
/* Logs the range of the values, if there are any, and warns of large ones. */
void task_values_report(const TaskValues *values, const char *path);
/* The class names that the label of an example consists of: one, or for LABELS_TOKENS one per word. g_strfreev. */
GStrv label_names(const Task *task, const TaskExample *example);

/* STS-B: round(5 y) / 5 with one digit, computed in f32, rounding half to even; NULL if the text is no number. */
char *round_fifth(const char *text);
/* MultiRC: replaces <br> by a space and removes <b> and </b>. */
char *strip_markup(const char *field, char *text);
bool multirc_make(const Task *task, const Record *record, TaskExample *out, GError **error);
/* ReCoRD: lists the entities of the passage, sorted and without duplicates; "@highlight" lines become sentences. */
bool record_task_make(const Task *task, const Record *record, TaskExample *out, GError **error);
/* WSC: the input is "wsc: … *pronoun* …", the target the candidate referent; only examples with a right one are trained
 * on. A prediction counts as "True" if its words without determiners are a subset of the candidate's, or vice versa. */
bool wsc_make(const Task *task, const Record *record, TaskExample *out, GError **error);
void wsc_grade(const TaskExample *example, char **prediction, GPtrArray *references);
/* CNN/Daily Mail: puts a line end after each " . ", since ROUGE-Lsum separates sentences at line ends. */
void break_sentences(const TaskExample *example, char **prediction, GPtrArray *references);
/* Hyperpartisan news, as t5-experiments judges it: a prediction counts as "true" if it is the word "true" when case,
 * punctuation and articles are ignored; any other prediction counts as "false". */
void true_or_false(const TaskExample *example, char **prediction, GPtrArray *references);
/* CodeXGLUE: makes each run of white space in a program one space and removes it at the ends, as its run.py does. */
char *single_spaces(const char *field, char *text);
