/* task.h: the header of data/task for files outside it: labelled data as pairs of texts, an input and a target. A Task
 * says how the records of a file become examples; the tasks of published benchmarks are entries of one table (tasks.c),
 * and the options task.* fill the same struct. Text formats are those of T5 (text-to-text-transfer-transformer) unless
 * docs/task.md says otherwise. */
#pragma once

#include "base/options/options.h"
#include "data/labels.h"
#include "data/task/records.h"
#include "text/tokenizer.h"

/* ---- what a task is ---- */

typedef struct TaskExample {
    char *input;
    GPtrArray *targets; /* char *: right answers; the first is trained on; empty for a question without answer */
    bool known;         /* the record has the right answers, or says that there is none */
    char *group;        /* name of the group that a score is taken over, such as MultiRC's question; NULL means none */
    char *id;           /* id of the record; NULL means none */
    char *answer;       /* WSC: "True" or "False", whether the target is the right referent; NULL otherwise */
    bool excluded;      /* excluded from training */
    /* For classifiers: */
    char *second;       /* second text of a pair; NULL means none */
    GPtrArray *choices; /* LABELS_CHOICE: char *, second texts, of which one is right; otherwise NULL */
    GPtrArray *words; /* LABELS_TOKENS: char *, words; the target is their tags, separated by spaces; otherwise NULL */
    GArray *starts;   /* LABELS_SPAN: int64_t, the byte of `second` at which each target begins; otherwise NULL */
} TaskExample;

/* The programs that test a completion of an example (eval/programs). */
typedef enum TaskTests {
    TESTS_NONE,
    TESTS_HUMANEVAL, /* a function check(candidate) in the field `test`, with assertions */
    TESTS_MBPP,      /* assertions in the field `test_list`, or a program in the field `test` */
    TESTS_PLUS, /* EvalPlus: compares results with those of `canonical_solution` on `base_input` and `plus_input` */
} TaskTests;

typedef struct Task Task;
/* Makes the example of a record without templates. */
typedef bool (*TaskMakeFn)(const Task *task, const Record *record, TaskExample *out, GError **error);
/* Changes the text of a field before it is put into an input or target. Takes ownership of `text`; returns a string to
 * g_free. */
typedef char *(*TaskCleanFn)(const char *field, char *text);
/* Turns a record's target ("3.77") into the text to be predicted ("3.8"). g_free; NULL means that the text is no label.
 */
typedef char *(*TaskLabelFn)(const char *text);
/* Turns a prediction and the right answers into what the scores compare. */
typedef void (*TaskGradeFn)(const TaskExample *example, char **prediction, GPtrArray *references);

struct Task {
    const char *name, *does;                         /* does: one line of help */
    RecordSource source;                             /* format of the files; the path is set for each file */
    const char *train_file, *valid_file, *test_file; /* names within the official folder; NULL means none */
    LabelKind learns; /* kind of labels for a classifier; LABELS_NONE means a text-to-text task */
    const char *first,
        *second; /* templates for classifiers, used instead of `input`: first and second text of a pair. `first` NULL:
                    the task does not support classifiers; `second` NULL: inputs are single texts */
    const char *tags, *answers,
        *choices;           /* field names, as in the options task.tags, task.answers, task.choices; NULL means none */
    const char *input;      /* template: "sentence1: {a} sentence2: {b}"; {{ and }} stand for braces */
    const char *target;     /* template; NULL means the texts of the field `references` */
    const char *references; /* field with the right answers, the first of which is trained on; NULL means the target */
    const char *labels; /* "negative,positive": names for the values 0, 1, … (false, true) of the target; NULL means
                           that the target's text is used unchanged */
    const char *lookup; /* another file in the same folder: JSON lines with a field `idx`; NULL means none */
    const char
        *looked_up; /* fields "idx1,idx2" whose values are an `idx` of that file and are replaced by its object */
    const char *id, *group; /* templates; NULL means none */
    const char *scores;     /* names of scores (eval/scores/scores.h), separated by commas */
    const char *positive;   /* the positive label of f1 and multirc; NULL means none */
    bool average_labels;    /* f1_macro averages over exactly the names in `labels` */
    const char *language;   /* programming language of the outputs, for CodeBLEU; NULL means none */
    bool intl;              /* BLEU uses sacreBLEU's tokenizer intl */
    bool pad_punctuation;   /* put spaces around every ASCII punctuation character and merge runs of white space */
    bool each_answer;       /* one training example per right answer */
    bool merge_ids; /* in evaluation, records with the same id are one example with the answers of all these records */
    bool skip_bad;  /* skip rows that cannot be read, as the official reader does */
    int64_t input_length, target_length; /* capacity of a packed sequence in tokens; 0 means the default */
    TaskTests tests;                     /* how completions are tested as programs */
    const char *const
        *stop; /* stop strings: a completion ends before the first of them; the list ends with NULL; NULL means none */
    TaskMakeFn make; /* this and the next three: NULL means the default */
    TaskCleanFn clean;
    TaskLabelFn label;
    TaskGradeFn grade;
};

/* The i-th task of the table; NULL after the last. */
const Task *task_at(size_t i);
const Task *task_find(const char *name);
/* The most similar name in the table; NULL if no name is similar. */
const char *task_nearest(const char *name);

/* ---- the options task.* ---- */

typedef enum TaskSide { TASK_CUT_END, TASK_CUT_START } TaskSide;
typedef enum TaskOnError { TASK_STOP, TASK_SKIP } TaskOnError;

typedef struct TaskConfig {
    char *name, *data, *valid;
    int format, header, quotes; /* RecordFormat, RecordChoice */
    char *rows, *columns;
    char *input, *target, *references, *labels, *scores, *positive;
    char *second, *label, *value, *tags, *answers, *choices;
    int64_t stride;  /* LABELS_SPAN: tokens that consecutive windows of a long text share */
    int on_error;    /* TaskOnError */
    char *cut_field; /* the field that is shortened if an input is too long; "" means that the whole input is cut */
    int cut_side;    /* TaskSide */
    /* The following fields are no options, but are taken from the model: */
    bool classifies;         /* whether the model has a classifier */
    const char *classes;     /* names of its classes, in which labels must be; NULL means that any label is accepted */
    const char *labels_from; /* path of train.init if these names come from there; otherwise NULL */
} TaskConfig;

extern const OptionRow task_options[];
extern const int n_task_options;

/* Whether the configuration names a task. */
bool task_is_set(const TaskConfig *config);
/* The kind of labels that a classifier learns from the task; LABELS_NONE means a text-to-text task. */
LabelKind task_learns(const TaskConfig *config);
/* Sets *task from the options: the named entry of the table, with the changes that the options make. Its strings belong
 * to the configuration and the table. */
bool task_configure(Task *task, const TaskConfig *config, GError **error);

/* ---- examples ---- */

void task_example_clear(TaskExample *example);
/* Makes the example of a record. needs_target: a record without target is an error. */
bool task_make(const Task *task, const Record *record, bool needs_target, TaskExample *out, GError **error);
/* Appends the names of the fields in a template to `fields` (char *, g_free), in order, each once. Unbalanced braces
 * are an error. */
bool task_template_fields(const char *template, GPtrArray *fields, GError **error);

typedef enum TaskPart { TASK_PART_ALL, TASK_PART_TRAIN, TASK_PART_HELD_OUT } TaskPart;

typedef struct TaskFile {
    char *path;    /* g_free */
    TaskPart part; /* which examples of the file; held-out examples are chosen by a hash of their input */
    double share;  /* fraction of the examples that is held out */
} TaskFile;

/* The files to train and to evaluate on: task.data, and task.valid, which is a file, or a percentage such as "5%" of
 * task.data. If task.data is a folder, its files have their official names. valid->path NULL means no evaluation data.
 */
bool task_files(const Task *task, const TaskConfig *config, TaskFile *train, TaskFile *valid, GError **error);

typedef struct TaskReader TaskReader;
/* task and config must outlive the reader. */
TaskReader *task_reader_open(const Task *task, const TaskConfig *config, const TaskFile *file, bool needs_target,
                             GError **error);
void task_reader_close(TaskReader *reader);
/* Reads the next example (task_example_clear) and the record that it was made from, which is valid until the next call.
 * False at the end (error unset) or on an error. With task.on_error=skip, bad records are skipped and counted, and the
 * first ones are logged. */
bool task_reader_next(TaskReader *reader, TaskExample *example, Record *record, GError **error);
int64_t task_reader_skipped(const TaskReader *reader);
/* Number of examples read so far, including those outside the selected TaskPart. */
int64_t task_reader_count(const TaskReader *reader);
/* Whether a label means "no label": -1, -100 or "<unk>", unless `classes` (names separated by commas) contains it.
 * classes NULL means that the classes are not known yet. */
bool label_is_none(const char *classes, const char *name);
/* Whether the labels of an example are valid for a classifier: numbers, or names in config->classes. The labels -1 and
 * -100 mean "no label": an error if needs_target is true, otherwise the example's answer becomes unknown. */
bool task_check_example(const Task *task, const TaskConfig *config, const char *where, bool needs_target,
                        TaskExample *example, GError **error);

/* ---- token ids ---- */

typedef struct TaskEncoder {
    const Task *task;
    const TaskConfig *config; /* its cut_field and cut_side are used */
    const Tokenizer *tok;
    int64_t input_length, target_length; /* most tokens, with EOS */
    bool joined;                         /* decoder-only model: input, target and EOS share input_length tokens */
    TextFrame frame; /* special tokens around an input, and around a target unless `joined`; for text-to-text tasks it
                        ends with EOS */
    /* For classifiers: */
    const char *labels; /* names of the classes, separated by commas */
    /* Counts: */
    int64_t inputs, inputs_cut,
        targets_cut; /* number of inputs (for LABELS_SPAN: questions), and how many inputs and targets were cut */
    int64_t longest_input, longest_target; /* tokens of the longest input and target, before cutting */
} TaskEncoder;

/* Most tokens that the text of an input may have, without its frame; with `joined`, n_target tokens are reserved for
 * the target. */
int64_t task_input_room(const TaskEncoder *encoder, int64_t n_target);
/* Appends the ids of the example's input in its frame, without EOS. With `joined`, the input is shortened so that
 * n_target tokens fit after it. */
bool task_encode_input(TaskEncoder *encoder, const Record *record, const TaskExample *example, int64_t n_target,
                       GArray *ids, GError **error);
/* The frame's tokens before a target; none with `joined`. */
FrameTokens task_frame_before_target(const TaskEncoder *encoder);
/* Appends the ids of a target in its frame, without EOS; a target that is too long is cut at its end. */
bool task_encode_target(TaskEncoder *encoder, const char *target, GArray *ids, GError **error);
/* Logs how many inputs and targets were cut, and which options control this. */
void task_encoder_report(const TaskEncoder *encoder, const char *what);

/* ---- inputs of classifiers ---- */

/* The sequences of one example: one; for LABELS_SPAN, one per window of a long text; for LABELS_CHOICE, one per choice.
 */
typedef struct TaskInputs {
    GArray *ids;    /* int32_t: tokens of all sequences, with special tokens */
    GArray *cu;     /* int32_t: (sequences + 1) cumulative lengths */
    GArray *second; /* int32_t: (sequences) token of the sequence at which its second text begins; 0 means none */
    GArray *words;  /* int32_t: LABELS_TOKENS: first token of each word; -1 for a word that was cut off */
    GArray *begins, *ends; /* uint32_t: LABELS_SPAN: (tokens) range of bytes of the second text that each token stands
                              for; both 0 for other tokens */
} TaskInputs;

TaskInputs task_inputs_new(void);
void task_inputs_free(TaskInputs *inputs);
static inline int32_t task_inputs_count(const TaskInputs *inputs)
{
    return (int32_t)inputs->cu->len - 1;
}
/* Sets *inputs to the sequences of the example. Too long texts are cut; of a pair, the longer text first. */
bool task_encode_inputs(TaskEncoder *encoder, const TaskExample *example, TaskInputs *inputs, GError **error);
/* Appends to `encoded` (int32_t) the encoded labels (objectives/labelled.h) of sequence s, or of all sequences of a
 * choice. A label that the encoder has no class for is an error that names the record. */
bool task_encode_labels(const TaskEncoder *encoder, const char *where, const TaskExample *example,
                        const TaskInputs *inputs, int32_t s, GArray *encoded, GError **error);
/* The classes that occur in the training file, sorted, separated by commas; g_free. */
char *task_collect_labels(const Task *task, const TaskConfig *config, GError **error);

/* ---- datasets ---- */

/* Warns about options that have no effect with the format of the file, or with the scores of the task. */
void task_advise(const Task *task, const TaskConfig *config, const char *path);
/* Writes the dataset PREFIX (data/dataset), and PREFIX-valid with the examples of task.valid if there is one. A
 * document is an example: two sequences, the ids of input and target without EOS. The caller sets encoder->task,
 * config, tok and the lengths. Logs how many texts were cut and how many examples left out. */
bool task_prepare(const TaskEncoder *encoder, const char *prefix, GError **error);
