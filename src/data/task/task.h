/* task.h: the header of data/task for other files: labelled data as pairs of texts, an input and a target. A Task says
 * how records become examples; published benchmarks are entries of one table (tasks.c), and the options task.* fill the
 * same struct. Text formats are T5's (text-to-text-transfer-transformer) unless docs/task.md says otherwise. */
#pragma once

#include "base/options/options.h"
#include "data/labels.h"
#include "data/records/records.h"
#include "text/tokenizer.h"

/* ---- what a task is ---- */

/* One example: the texts that a model reads and should answer, or, for a classifier, the texts and labels. */
typedef struct TaskExample {
    char *input;
    GPtrArray *targets; /* char *: right answers; training uses the first; empty if the question has no answer */
    bool known;         /* the record gives the right answers, or says that there is no answer */
    char *group;   /* name of the group of examples that are scored together, such as all answers to one question of
                      MultiRC; NULL means none */
    char *id;      /* id of the record; NULL means none */
    char *answer;  /* WSC: "True" or "False": whether the target is the right referent; otherwise NULL */
    bool excluded; /* true: training does not use this example */
    /* For classifiers: */
    char *second;       /* second text of a pair; NULL means none */
    GPtrArray *choices; /* LABELS_CHOICE: char *, second texts, of which one is right; otherwise NULL */
    GPtrArray *words;   /* LABELS_TOKENS: char *, the words; the target is their tags with spaces; else NULL */
    GArray *starts;     /* LABELS_SPAN: int64_t, the byte of `second` at which each of `targets` begins; else NULL */
} TaskExample;

/* How the completion of a programming task is tested by running it (eval/programs). */
typedef enum TaskTests {
    /* completions are not run */
    TESTS_NONE,
    TESTS_HUMANEVAL, /* a function check(candidate) in the field `test`, with assertions */
    TESTS_MBPP, /* assertions in the list `test_list`, which is required; a program in the field `test` replaces them */
    TESTS_PLUS, /* EvalPlus: compares results on `base_input` and `plus_input` with those of `canonical_solution` */
} TaskTests;

typedef struct Task Task;
/* Makes the example of a record, in place of the task's templates. */
typedef bool (*TaskMakeFn)(const Task *task, const Record *record, TaskExample *out, GError **error);
/* Changes the text of a field before it is put into an input or target. Takes ownership of `text`; g_free. */
typedef char *(*TaskCleanFn)(const char *field, char *text);
/* Turns a record's target ("3.77") into the text to be predicted ("3.8"); g_free. NULL means that it is no label. */
typedef char *(*TaskLabelFn)(const char *text);
/* Changes a prediction and the right answers to the texts that the scores compare. */
typedef void (*TaskGradeFn)(const TaskExample *example, char **prediction, GPtrArray *references);

struct Task {
    const char *name, *does;             /* does: one line of help about the task */
    RecordSource source;                 /* format of the files; its `path` is set for each file */
    const char *train_file, *valid_file; /* names of the benchmark's files in its official folder; NULL means none */
    LabelKind learns;                    /* kind of labels for a classifier; LABELS_NONE means a text-to-text task */
    const char *first,
        *second; /* templates for classifiers, used instead of `input`: first and second text of a pair. `first` NULL:
                    the task does not support classifiers; `second` NULL: inputs are single texts */
    const char *tags, *answers,
        *choices;           /* field names, as in the options task.tags, task.answers, task.choices; NULL means none */
    const char *input;      /* template: "sentence1: {a} sentence2: {b}"; {{ and }} stand for braces */
    const char *target;     /* template; NULL means the texts of the field `references` */
    const char *references; /* field with the right answers, the first of which is trained on; NULL means the target */
    const char *labels;     /* "negative,positive": names for the values 0, 1, … (or false, true) of the field in
                               `target`, which are put into the template; NULL means that texts are used unchanged */
    const char *lookup;    /* name of another file in the same folder: JSON lines with a field `idx`; NULL means none */
    const char *looked_up; /* names of fields, "idx1,idx2": their value, an `idx` of the file `lookup`, is replaced by
                              the object with this `idx` */
    const char *id, *group; /* templates; NULL means none */
    const char *scores;     /* names of scores (scores/scores.h), separated by commas */
    const char *positive;   /* the positive label of f1 and multirc; NULL means none */
    bool average_labels;    /* f1_macro averages over exactly the names in `labels` */
    const char *language;   /* programming language of the outputs, for CodeBLEU; NULL means none */
    bool intl;              /* BLEU uses sacreBLEU's tokenizer intl */
    bool pad_punctuation;   /* put spaces around all ASCII punctuation, and make each run of white space one */
    bool each_answer;       /* one training example per right answer */
    bool merge_ids; /* in evaluation, records with the same id become one example with the answers of all of them */
    bool skip_bad;  /* skip rows that cannot be read, as the official reader does */
    int64_t input_length, target_length; /* capacity of a packed sequence in tokens; 0 means the default */
    TaskTests tests;                     /* how completions are run and tested; TESTS_NONE means that they are not */
    const char *const
        *stop; /* NULL-terminated list of stop strings: a completion ends before the first of them; NULL means none */
    TaskMakeFn make; /* make, clean, label, grade: NULL means that templates and texts are used unchanged */
    TaskCleanFn clean;
    TaskLabelFn label;
    TaskGradeFn grade;
};

/* The i-th task of the table, counted from 0; NULL after the last. */
const Task *task_at(size_t i);
/* The task of this name; NULL if the table does not have it. */
const Task *task_find(const char *name);
/* The name in the table that is most similar to `name`; NULL if no name is similar. */
const char *task_nearest(const char *name);

/* Whether `different` answers of n examples are probably a choice of a few: each comes several times. */
bool task_is_choice(guint different, int64_t n);

/* ---- the options task.* ---- */

typedef enum TaskSide { TASK_CUT_END, TASK_CUT_START } TaskSide;
typedef enum TaskOnError { TASK_STOP, TASK_SKIP } TaskOnError;

/* The options task.*. */
typedef struct TaskConfig {
    char *name, *data, *valid;
    int format, header, quotes; /* RecordFormat, RecordChoice */
    char *rows, *columns;       /* as in RecordSource */
    char *delimiter;            /* of a table: "," ";" "|" "\t"; "" means that of the format */
    /* Templates, field names and names of labels and scores, as in Task; "" means the value of the named task. */
    char *input, *target, *references, *labels, *scores, *positive;
    char *second, *label, *value, *tags, *answers, *choices;
    int64_t stride;  /* LABELS_SPAN: tokens that consecutive windows of a long text share */
    int on_error;    /* TaskOnError */
    char *cut_field; /* the field that is shortened if an input is too long; "" means the whole input */
    /* Whether the end or the start of a too long input is removed (TaskSide). */
    int cut_side; /* TaskSide */
    /* The following fields are no options, but are taken from the model: */
    bool classifies;     /* the model has a classifier */
    const char *classes; /* names of the classifier's classes, separated by commas, which all labels must be among; NULL
                            means that any label is accepted */
    const char *labels_from; /* path of the model (train.init) or table (task.data) that has `classes`, or NULL */
    const char *held_out; /* the copy of the examples to evaluate on that task_prepare made (RUN/task); NULL means that
                             they are read from the files of the options */
    const char *trained;  /* path prefix of the run's dataset of task.data; NULL means that it is not at hand, or that
                             options name other examples */
} TaskConfig;

extern const OptionRow task_options[];
extern const int n_task_options;

/* Whether the configuration names a task. */
bool task_is_set(const TaskConfig *config);
/* The kind of labels that a classifier learns from the task; LABELS_NONE means a text-to-text task. */
LabelKind task_learns(const TaskConfig *config);
/* The option that gives the template of the target, for messages: "task.label", "task.value" or "task.target". */
const char *task_target_option(const TaskConfig *config);
/* Sets *task to the entry of the table that the options name, with the changes that the options make. Its strings
 * belong to the configuration and to the table. */
bool task_configure(Task *task, const TaskConfig *config, GError **error);

/* ---- examples ---- */

void task_example_clear(TaskExample *example);
void task_example_free(void *example); /* of g_malloc, with its fields */
/* Makes the example of a record. needs_target: a record without target is an error. Free it with task_example_clear. */
bool task_make(const Task *task, const Record *record, bool needs_target, TaskExample *out, GError **error);
/* The targets of all names in task->labels; g_strfreev. */
char **task_label_texts(const Task *task);
/* Appends the names of the fields in a template to `fields` (char *, freed with g_free), in the order of their first
 * occurrence. Unbalanced braces are an error. */
bool task_template_fields(const char *template, GPtrArray *fields, GError **error);

typedef enum TaskPart { TASK_PART_ALL, TASK_PART_TRAIN, TASK_PART_HELD_OUT, TASK_PART_COPY } TaskPart;

typedef struct TaskFile {
    char *path;    /* g_free */
    TaskPart part; /* which examples of the file are used; held-out examples are chosen by a hash of their input;
                      TASK_PART_COPY: all, and the file is the copy that task_prepare made */
    double share;  /* fraction of the examples that is held out */
    bool quiet;    /* another pass over the file tells of the rows that task.on_error=skip leaves out */
} TaskFile;

/* The files to train and to evaluate on: task.data, and task.valid, which is a file, or a percentage such as "5%" of
 * task.data. If task.data is a folder, the files in it have the official names of the benchmark. valid->path becomes
 * NULL if there is no evaluation data. */
bool task_files(const Task *task, const TaskConfig *config, TaskFile *train, TaskFile *valid, GError **error);
void task_file_clear(TaskFile *file);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TaskFile, task_file_clear)

/* Sets config->held_out to the copy beside the dataset PREFIX-valid of task_prepare, or to NULL if it has none. valid:
 * the path prefix of that dataset. The path lives as long as the program. */
void task_use_copy(TaskConfig *config, const char *valid);

typedef struct TaskReader TaskReader;
/* Opens a file for reading examples; `task` and `config` must outlive the reader. needs_target: as in task_make. */
TaskReader *task_reader_open(const Task *task, const TaskConfig *config, const TaskFile *file, bool needs_target,
                             GError **error);
void task_reader_close(TaskReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TaskReader, task_reader_close)
/* Reads the next example (free its fields with task_example_clear) and the record that it was made from, which is valid
 * until the next call. Returns false at the end of the file (error unset) or on an error. With task.on_error=skip, bad
 * records are skipped and counted, and the first ones are logged. */
bool task_reader_next(TaskReader *reader, TaskExample *example, Record *record, GError **error);
/* Takes an example, which is cleared afterwards, and the record that it was made from. */
typedef bool (*TaskExampleFn)(void *context, const TaskExample *example, const Record *record, GError **error);
/* Calls `use` with every example that is left, until it fails. Of many examples it shows progress on a terminal. */
bool task_reader_each(TaskReader *reader, TaskExampleFn use, void *context, GError **error);
int64_t task_reader_skipped(const TaskReader *reader); /* number of bad records skipped so far; 0 if quiet */
/* Number of examples read so far, including those outside the selected TaskPart. */
int64_t task_reader_count(const TaskReader *reader);
/* Whether a label means "no label": -1, -100 or "<unk>", unless this is a name in `classes` (names separated by
 * commas). classes NULL means that the classes are not known yet. */
bool label_is_none(const char *classes, const char *name);
/* Checks that the labels of an example are valid for a classifier: numbers for LABELS_VALUE, otherwise names in
 * config->classes, of which a sequence's label with white space around it becomes the one without. If the class of a
 * whole sequence is a label that label_is_none accepts, the example has no label: an error if needs_target is true,
 * otherwise the example's answer becomes unknown. Among tags of tokens it is ignored. Numbers have none. */
bool task_check_example(const Task *task, const TaskConfig *config, const char *where, bool needs_target,
                        TaskExample *example, GError **error);

/* ---- token ids ---- */

#define TASK_SPAN_TOKENS 30 /* most tokens of a span that is answered, as in run_qa.py of Hugging Face */

/* Turns the texts of examples into token ids, and counts how many texts were too long. */
typedef struct TaskEncoder {
    const Task *task;
    const TaskConfig *config; /* only cut_field and cut_side are used */
    const Tokenizer *tok;
    int64_t input_length, target_length; /* largest number of tokens of an input and of a target, with EOS */
    const char *input_limit;             /* the option of input_length, for messages; NULL means data.input_length */
    bool joined;                         /* decoder-only model: input, target and EOS share input_length tokens */
    bool passing;                        /* the datasets are made to be counted only: no message says where they are */
    bool of_run;                         /* the datasets are opened next, which says what of them is unknown */
    TextFrame frame; /* special tokens around an input and, unless `joined`, a target; text-to-text: ends with EOS */
    /* For classifiers: */
    const char *labels; /* names of the classes, separated by commas */
    /* Counts: */
    int64_t inputs, inputs_cut, targets_cut; /* number of inputs (for LABELS_SPAN: of questions), of inputs that were
                                                shortened, of targets that were shortened */
    int64_t answers_long;                    /* LABELS_SPAN: answers of more than TASK_SPAN_TOKENS tokens */
    int64_t fields_short; /* inputs that task.cut_field could not make short enough: they were cut whole */
    int64_t longest_input,
        longest_target; /* the lengths that the longest input and target need, special tokens included */
} TaskEncoder;

/* The largest number of tokens that the text of an input may have, without the special tokens around it; with `joined`,
 * n_target tokens are reserved for the target. */
int64_t task_input_room(const TaskEncoder *encoder, int64_t n_target);
/* Appends the ids of the example's input with the special tokens around it (encoder->frame), but without EOS. With
 * `joined`, the input is shortened so that n_target tokens fit after it. */
bool task_encode_input(TaskEncoder *encoder, const Record *record, const TaskExample *example, int64_t n_target,
                       GArray *ids, GError **error);
/* The special tokens before a target (encoder->frame); none with `joined`. */
FrameTokens task_frame_before_target(const TaskEncoder *encoder);
/* Appends the ids of a target with the special tokens before it, but without EOS; cuts the end if it is too long. */
bool task_encode_target(TaskEncoder *encoder, const char *target, GArray *ids, GError **error);
/* Logs how many inputs and targets were shortened, and which options control this. what: what the data is called. */
void task_encoder_report(const TaskEncoder *encoder, const char *what);

/* Numbers of tokens, with the special tokens around the text. */
typedef struct TaskLengths {
    int64_t input, target;
} TaskLengths;

/* Finds the longest input and the longest target that are trained or evaluated on (task.data, task.valid), whole. For
 * text-to-text tasks. Of encoder the lengths are not used. */
bool task_measure(const TaskEncoder *encoder, TaskLengths *longest, GError **error);

/* ---- inputs of classifiers ---- */

/* The characters of a token are bytes [begin, end) of the text. The characters in [before, begin) and in [end, after)
 * are part of no token: white space, and what the tokenizer drops, such as a zero-width space. A token that stands
 * for no character, such as a space that the tokenizer put there, has begin = end. */
typedef struct TokenRange {
    uint32_t before, begin, end, after;
} TokenRange;

/* Encodes a text: `ids` (GArray of int32_t) becomes its ids, `ranges` (GArray of TokenRange) where each is in the text.
 * An accent that the tokenizer drops counts as a part of the token before it. Both arrays are empty before. */
bool token_ranges_encode(const Tokenizer *tok, const char *text, GArray *ids, GArray *ranges, GError **error);

/* The sequences that a classifier reads for one example: usually one; for LABELS_SPAN, one per window of a long text;
 * for LABELS_CHOICE, one per choice. */
typedef struct TaskInputs {
    GArray *ids;    /* int32_t: token ids of all sequences, one sequence after another, with special tokens */
    GArray *cu;     /* int32_t: (sequences + 1) cumulative lengths */
    GArray *second; /* int32_t: (sequences) index of the first token of the sequence's second text; 0 means none */
    GArray *words;  /* int32_t: LABELS_TOKENS: index of the first token of each word; -1 for a word that was cut off */
    GArray *ranges; /* TokenRange: LABELS_SPAN: (tokens) where a token is in the second text; else all 0 */
} TaskInputs;

TaskInputs task_inputs_new(void);
void task_inputs_free(TaskInputs *inputs);
static inline int32_t task_inputs_count(const TaskInputs *inputs)
{
    return (int32_t)inputs->cu->len - 1;
}
/* Sets *inputs to the example's sequences. Texts that are too long are shortened; of a pair, the longer one first. */
bool task_encode_inputs(TaskEncoder *encoder, const TaskExample *example, TaskInputs *inputs, GError **error);
/* Appends to `encoded` (int32_t) the encoded labels (objectives/labelled.c) of sequence s, or of all sequences of a
 * choice. A label that is not in encoder->labels is an error. where: file and line of the record, for the message. */
bool task_encode_labels(const TaskEncoder *encoder, const char *where, const TaskExample *example,
                        const TaskInputs *inputs, int32_t s, GArray *encoded, GError **error);
/* The names of all classes that occur in the training file, sorted and separated by commas; free with g_free. */
char *task_collect_labels(const Task *task, const TaskConfig *config, GError **error);

/* ---- held-out examples that are trained on ---- */

/* Compares two sets of inputs, or of answers, by hashes; of at most 262,144 held-out ones, to bound memory. */
typedef struct TaskOverlap TaskOverlap;
TaskOverlap *task_overlap_new(void);
void task_overlap_free(TaskOverlap *overlap);
/* The hash of the texts of an input, which also decides whether an example is held out. */
uint64_t task_input_hash(const TaskExample *example);
/* First all that are held out, then all that are trained on. text: tells apart different texts that have one hash, as
 * token ids have where a token is unknown: these do not count as trained on. */
void task_overlap_hold(TaskOverlap *overlap, uint64_t hash, uint64_t text);
void task_overlap_train(TaskOverlap *overlap, uint64_t hash);
/* task_overlap_train for inputs of a dataset from task_prepare; hashes are the XXH3 of token ids without EOS. */
bool task_overlap_train_dataset(TaskOverlap *overlap, const char *prefix, GError **error);
/* Warns of held-out inputs that are trained on, if there are any; held_out: the path of their file. */
void task_overlap_warn(const TaskOverlap *overlap, const char *held_out);
/* Number of held-out ones that are trained on; *n becomes the number of held-out ones. */
int64_t task_overlap_count(const TaskOverlap *overlap, int64_t *n);

/* ---- examples compared with each other ---- */

/* Held-out examples that are trained on, and contradictions among those that are. */
typedef struct TaskComparison TaskComparison;
TaskComparison *task_comparison_new(const Task *task);
void task_comparison_free(TaskComparison *comparison);
/* First all examples that are held out, then all that are trained on (trains); excluded ones are ignored. */
void task_comparison_add(TaskComparison *comparison, const TaskExample *example, bool trains);
/* Says what was found, each kind in one line. tok: also counts the answers of a choice; NULL means not. trained,
 * held_out: paths of the files; held_out NULL means that the held-out examples are not spoken of. */
void task_comparison_report(const TaskComparison *comparison, const Tokenizer *tok, const char *trained,
                            const char *held_out);
/* Whether all examples to evaluate on are also trained on, of which it warns then. */
bool task_files_same(const TaskFile *train, const TaskFile *valid);
/* Reads the examples of both files (valid->path NULL means only the first) and reports on them. */
bool task_compare(const Task *task, const TaskConfig *config, const TaskFile *train, const TaskFile *valid,
                  GError **error);

/* ---- datasets ---- */

/* Whether `path`, one file or several, holds other bytes than when the dataset PREFIX was made of it. */
bool task_source_changed(const char *path, const char *prefix);
/* Writes the dataset PREFIX (data/dataset) with the training examples and, if task.valid is set, the dataset
 * PREFIX-valid with its examples, and their records as PREFIX-valid.jsonl (record_copy), for scores. A document is an
 * example: two sequences, the ids of input and target without EOS. The caller sets encoder->task, config, tok and the
 * lengths. Logs how many texts were shortened and examples left out. */
bool task_prepare(const TaskEncoder *encoder, const char *prefix, GError **error);
