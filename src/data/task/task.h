/* task.h: the way into data/task: labelled data as pairs of texts, an input and a target. A Task says how the records
 * of a file become examples; the tasks of published benchmarks are entries of one table (tasks.c), and the options
 * task.* fill the same struct. Text formats are those of T5 (text-to-text-transfer-transformer) unless docs/task.md
 * says otherwise. */
#pragma once

#include "base/options/options.h"
#include "data/labels.h"
#include "data/task/records.h"
#include "text/tokenizer.h"

/* ---- what a task is ---- */

typedef struct TaskExample {
    char *input;
    GPtrArray *targets; /* char *: right answers, the one that is trained on first; none of a question without answer */
    bool known;         /* the record tells the right answers, or that there is none */
    char *group;        /* name of the group that a score is taken over, such as MultiRC's question; NULL means none */
    char *id;           /* of the record; NULL means none */
    char *answer;       /* WSC: "True" or "False", whether the target is the right referent; NULL otherwise */
    bool excluded;      /* not to be trained on */
    /* For classifiers: */
    char *second;       /* second text of a pair; NULL means none */
    GPtrArray *choices; /* LABELS_CHOICE: char *, second texts of which one is right; else NULL */
    GPtrArray *words;   /* LABELS_TOKENS: char *; their tags, with spaces between, are the target; else NULL */
    GArray *starts;     /* LABELS_SPAN: int64_t, the byte of `second` at which each target begins; else NULL */
} TaskExample;

/* The programs that test a completion of an example (eval/programs). */
typedef enum TaskTests {
    TESTS_NONE,
    TESTS_HUMANEVAL, /* a function check(candidate) of the field `test`, which asserts */
    TESTS_MBPP,      /* assertions of the field `test_list`, or a program of the field `test` */
    TESTS_PLUS,      /* EvalPlus: results equal those of `canonical_solution` on `base_input` and `plus_input` */
} TaskTests;

typedef struct Task Task;
/* Makes the example of a record by other means than templates. */
typedef bool (*TaskMakeFn)(const Task *task, const Record *record, TaskExample *out, GError **error);
/* The text of a field as it goes into an input or target. Takes `text`, returns a string to g_free. */
typedef char *(*TaskCleanFn)(const char *field, char *text);
/* Turns a record's target ("3.77") into the text to be predicted ("3.8"). g_free; NULL means that it is no label. */
typedef char *(*TaskLabelFn)(const char *text);
/* Turns a prediction and the right answers into what the scores compare. */
typedef void (*TaskGradeFn)(const TaskExample *example, char **prediction, GPtrArray *references);

struct Task {
    const char *name, *does;                         /* does: one line of help */
    RecordSource source;                             /* its path is set for each file */
    const char *train_file, *valid_file, *test_file; /* names within the official folder; NULL means none */
    LabelKind learns;           /* what a classifier learns of it; LABELS_NONE means that it is text to text */
    const char *first, *second; /* templates of the texts of an encoder alone, which take the place of `input`; NULL
                                   means that the task has none, and that there is no pair */
    const char *tags, *answers, *choices; /* fields of the options of these names; NULL means none */
    const char *input;                    /* template: "sentence1: {a} sentence2: {b}"; {{ and }} stand for braces */
    const char *target;                   /* template; NULL means the texts of the field `references` */
    const char *references; /* field with the right answers, of which the first is trained on; NULL means the target */
    const char *labels;    /* "negative,positive": names of the values 0, 1, … (false, true) of the target; NULL means
                              that the target's text is taken as it is */
    const char *lookup;    /* file beside that of the records, of JSON lines with a field `idx`; NULL means none */
    const char *looked_up; /* fields whose values are such an idx and become the object of it: "idx1,idx2" */
    const char *id, *group; /* templates, or NULL */
    const char *scores;     /* names of scores (eval/scores/scores.h), separated by commas */
    const char *positive;   /* the positive label of f1 and multirc; NULL means none */
    bool average_labels;    /* f1_macro is of exactly the names in `labels` */
    const char *language;   /* of the programs to be written, for CodeBLEU; NULL means none */
    bool intl;              /* BLEU with the tokenizer intl */
    bool pad_punctuation;   /* spaces around every ASCII punctuation character, runs of white space become one space */
    bool each_answer;       /* an example to train on for each right answer */
    bool merge_ids;         /* in evaluation, records with the same id are one example with the answers of all */
    bool skip_bad;          /* rows that cannot be read are left out, as the official reader does */
    int64_t input_length, target_length; /* tokens of a packed sequence; 0 means the default */
    TaskTests tests;                     /* how completions are tested as programs */
    const char *const *stop; /* texts before which a completion ends, the list ends with NULL; NULL means none */
    TaskMakeFn make;         /* these four: NULL means the plain way */
    TaskCleanFn clean;
    TaskLabelFn label;
    TaskGradeFn grade;
};

/* The i-th task of the table; NULL behind the last. */
const Task *task_at(size_t i);
const Task *task_find(const char *name);
/* The name in the table that is most like this one; NULL means that none is like it. */
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
    int64_t stride;  /* LABELS_SPAN: tokens that the windows of a long text share */
    int on_error;    /* TaskOnError */
    char *cut_field; /* the field that is shortened where an input is too long; "" means the input as a whole */
    int cut_side;    /* TaskSide */
    /* No options, but taken from the model: */
    bool classifies;         /* it has a classifier */
    const char *classes;     /* names of its classes, which labels must be one of; NULL means any */
    const char *labels_from; /* path of train.init, where these names come from; NULL means another source */
} TaskConfig;

extern const OptionRow task_options[];
extern const int n_task_options;

/* Whether the configuration names a task. */
bool task_is_set(const TaskConfig *config);
/* What a classifier learns of the task; LABELS_NONE means that it is text to text. */
LabelKind task_learns(const TaskConfig *config);
/* The task of the options: the named entry of the table, and what the options change. Its strings belong to the
 * configuration and the table. */
bool task_configure(Task *task, const TaskConfig *config, GError **error);

/* ---- examples ---- */

void task_example_clear(TaskExample *example);
/* Makes the example of a record. needs_target: a record without target is an error. */
bool task_make(const Task *task, const Record *record, bool needs_target, TaskExample *out, GError **error);
/* Appends the names of the fields in a template to `fields` (char *, g_free), in their order, each once. An error where
 * its braces are not in order. */
bool task_template_fields(const char *template, GPtrArray *fields, GError **error);

typedef enum TaskPart { TASK_PART_ALL, TASK_PART_TRAIN, TASK_PART_HELD_OUT } TaskPart;

typedef struct TaskFile {
    char *path;    /* g_free */
    TaskPart part; /* which examples of the file; those held out are chosen by a hash of their input */
    double share;  /* share of the examples held out */
} TaskFile;

/* The files to train and to evaluate on: task.data, and task.valid, which is a file, or a share such as "5%" of
 * task.data. Where task.data is a folder, files have their official names in it. valid->path NULL means none. */
bool task_files(const Task *task, const TaskConfig *config, TaskFile *train, TaskFile *valid, GError **error);

typedef struct TaskReader TaskReader;
/* task and config must outlive the reader. */
TaskReader *task_reader_open(const Task *task, const TaskConfig *config, const TaskFile *file, bool needs_target,
                             GError **error);
void task_reader_close(TaskReader *reader);
/* The next example, task_example_clear; *record is the one it was made of, valid until the next call. False at the end
 * (error unset) or on an error. With task.on_error=skip bad records are left out, counted, and the first ones logged.
 */
bool task_reader_next(TaskReader *reader, TaskExample *example, Record *record, GError **error);
int64_t task_reader_skipped(const TaskReader *reader);
/* Examples read so far, of the other part of a share too. */
int64_t task_reader_count(const TaskReader *reader);
/* Whether this is no label: -1, -100, or "<unk>". classes: names separated by commas, which may be those, too; NULL
 * means that they are not known yet. */
bool label_is_none(const char *classes, const char *name);
/* Whether the labels of an example are those of a classifier: numbers, or names among config->classes. The labels -1
 * and -100, which mean that there is none, are errors where needs_target; else the example's answer becomes unknown. */
bool task_check_example(const Task *task, const TaskConfig *config, const char *where, bool needs_target,
                        TaskExample *example, GError **error);

/* ---- token ids ---- */

typedef struct TaskEncoder {
    const Task *task;
    const TaskConfig *config; /* cut_field and cut_side */
    const Tokenizer *tok;
    int64_t input_length, target_length; /* tokens at most, EOS included */
    bool joined;                         /* a decoder alone: input, target and EOS share input_length tokens */
    TextFrame frame;                     /* around an input, and around a target unless `joined`; it ends with EOS
                                            where the task is text to text */
    /* For classifiers: */
    const char *labels; /* names of the classes */
    /* Counts: */
    int64_t inputs, inputs_cut, targets_cut; /* inputs of LABELS_SPAN: questions */
    int64_t longest_input, longest_target;   /* tokens before cutting */
} TaskEncoder;

/* Tokens that the text of an input may have, without its frame; where `joined` the rest is room for n_target tokens. */
int64_t task_input_room(const TaskEncoder *encoder, int64_t n_target);
/* Appends the ids of the example's input in its frame, without EOS, shortened to leave room for n_target tokens where
 * `joined`. */
bool task_encode_input(TaskEncoder *encoder, const Record *record, const TaskExample *example, int64_t n_target,
                       GArray *ids, GError **error);
/* The frame's tokens before a target: none where `joined`. */
FrameTokens task_frame_before_target(const TaskEncoder *encoder);
/* Appends the ids of a target in its frame, without EOS; one that is too long loses its end. */
bool task_encode_target(TaskEncoder *encoder, const char *target, GArray *ids, GError **error);
/* Logs how many inputs and targets were cut, how, and which options decide about it. */
void task_encoder_report(const TaskEncoder *encoder, const char *what);

/* ---- inputs of classifiers ---- */

/* The sequences that an example becomes: one, a window of a long text each (LABELS_SPAN), or one for each choice. */
typedef struct TaskInputs {
    GArray *ids;    /* int32_t: tokens of all sequences, special tokens included */
    GArray *cu;     /* int32_t: (sequences + 1) cumulative lengths */
    GArray *second; /* int32_t: (sequences) token of the sequence at which its second text begins; 0 means none */
    GArray *words;  /* int32_t: LABELS_TOKENS: first token of each word; -1 for a word that was cut off */
    GArray *begins, *ends; /* uint32_t: LABELS_SPAN: (tokens) bytes of the second text that a token stands for; both 0
                              for tokens that are not of it */
} TaskInputs;

TaskInputs task_inputs_new(void);
void task_inputs_free(TaskInputs *inputs);
static inline int32_t task_inputs_count(const TaskInputs *inputs)
{
    return (int32_t)inputs->cu->len - 1;
}
/* Replaces *inputs by those of the example; too long texts are cut, the longer one of a pair first. */
bool task_encode_inputs(TaskEncoder *encoder, const TaskExample *example, TaskInputs *inputs, GError **error);
/* Appends to `encoded` (int32_t) the encoded labels (objectives/labelled.h) of sequence s, or of all sequences of a
 * choice. A label that the encoder has no class for is an error that names the record. */
bool task_encode_labels(const TaskEncoder *encoder, const char *where, const TaskExample *example,
                        const TaskInputs *inputs, int32_t s, GArray *encoded, GError **error);
/* The classes that the file to train on names, sorted, separated by commas; g_free. */
char *task_collect_labels(const Task *task, const TaskConfig *config, GError **error);

/* ---- datasets ---- */

/* Warns about options that do nothing with the format of the file, or with the scores of the task. */
void task_advise(const Task *task, const TaskConfig *config, const char *path);
/* Writes the dataset PREFIX (data/dataset), and PREFIX-valid with the examples of task.valid if there is one. A
 * document is an example: two sequences, the ids of input and target without EOS. encoder: task, config,
 * tok and lengths. What was cut and left out is logged. */
bool task_prepare(const TaskEncoder *encoder, const char *prefix, GError **error);
