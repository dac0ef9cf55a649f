/* task_config.c: the options task.*, and the task and files that they name. */
#include "base/foreign.h"
#include "base/text.h"
#include "data/task/task.h"

#include <string.h>

static const char *const side_names[] = { "end", "start", NULL };
static const char *const on_error_names[] = { "stop", "skip", NULL };

#define AT(field) offsetof(TaskConfig, field)
const OptionRow task_options[] = {
    { "task.name", OPT_STRING, AT(name), "", 0, 0, OPT_IDENTITY, NULL,
      "known task (loam task list), whose settings the other task options change; empty means a task of your own" },
    { "task.data", OPT_STRING, AT(data), "", 0, 0, OPT_TUNABLE, option_files,
      "file of labelled data to train on, or folder with the official files of task.name" },
    { "task.valid", OPT_STRING, AT(valid), "", 0, 0, OPT_IDENTITY, option_files,
      "file to evaluate on, or percentage of task.data to hold out, such as 5%; empty means the official file of a "
      "folder, else none" },
    { "task.format", OPT_ENUM, AT(format), "auto", 0, 0, OPT_IDENTITY, record_format_names,
      "format of the files; auto means by their names" },
    { "task.rows", OPT_STRING, AT(rows), "", 0, 0, OPT_IDENTITY, NULL,
      "JSON: the lists that lead to a record, such as data[].paragraphs[].qas[]" },
    { "task.header", OPT_ENUM, AT(header), "auto", 0, 0, OPT_IDENTITY, record_choice_names,
      "tables: the first line names the columns; auto means that it does unless task.columns is set" },
    { "task.columns", OPT_LIST, AT(columns), "", 0, 0, OPT_IDENTITY, NULL,
      "names of the columns of a table, separated by commas; with task.header=true in place of those of its first "
      "line" },
    { "task.delimiter", OPT_STRING, AT(delimiter), "", 0, 0, OPT_IDENTITY, NULL,
      "tables: the character between cells: , ; | or \\t; empty means a comma in .csv, a tab in .tsv" },
    { "task.quotes", OPT_ENUM, AT(quotes), "auto", 0, 0, OPT_IDENTITY, record_choice_names,
      "tables: cells may be quoted, with line ends within; auto means only in .csv" },
    { "task.input", OPT_STRING, AT(input), "", 0, 0, OPT_IDENTITY, NULL,
      "template of the input, such as \"sentence1: {a} sentence2: {b}\"; {{ and }} stand for braces" },
    { "task.target", OPT_STRING, AT(target), "", 0, 0, OPT_IDENTITY, NULL,
      "template of the target, such as \"{label}\"" },
    { "task.second", OPT_STRING, AT(second), "", 0, 0, OPT_IDENTITY, NULL,
      "encoders: template of the second text of a pair, such as \"{hypothesis}\"; empty means that there is one text" },
    { "task.label", OPT_STRING, AT(label), "", 0, 0, OPT_IDENTITY, NULL,
      "template of the input's class, such as \"{label}\": encoder-only models classify, other models write the "
      "class" },
    { "task.value", OPT_STRING, AT(value), "", 0, 0, OPT_IDENTITY, NULL,
      "template of a number, such as \"{score}\", that encoder-only models learn to predict (regression)" },
    { "task.tags", OPT_STRING, AT(tags), "", 0, 0, OPT_IDENTITY, NULL,
      "encoders: field with the class of each word of the input, which is one field with a list of words" },
    { "task.answers", OPT_STRING, AT(answers), "", 0, 0, OPT_IDENTITY, NULL,
      "encoders: field with answers in SQuAD's form (text, answer_start) that occur in task.second" },
    { "task.choices", OPT_LIST, AT(choices), "", 0, 0, OPT_IDENTITY, NULL,
      "encoders: fields of second texts, separated by commas; task.label names the right one by its number or field" },
    { "task.stride", OPT_I64, AT(stride), "128", 0, 1e6, OPT_IDENTITY, NULL,
      "task.answers: number of tokens by which the windows of a long text overlap" },
    { "task.references", OPT_STRING, AT(references), "", 0, 0, OPT_IDENTITY, NULL,
      "field with all right answers to score against; empty means the target" },
    { "task.labels", OPT_LIST, AT(labels), "", 0, 0, OPT_IDENTITY, NULL,
      "names of the target's values 0, 1, …, separated by commas; other targets are errors" },
    { "task.scores", OPT_LIST, AT(scores), "", 0, 0, OPT_TUNABLE, NULL,
      "scores of predictions (loam scores --list), separated by commas; empty means those of task.name, else "
      "exact_match" },
    { "task.positive", OPT_STRING, AT(positive), "", 0, 0, OPT_TUNABLE, NULL, "the positive label of the score f1" },
    { "task.on_error", OPT_ENUM, AT(on_error), "stop", 0, 0, OPT_FREE, on_error_names,
      "what to do at a row that cannot be read: stop, or skip and count it" },
    { "task.cut_field", OPT_STRING, AT(cut_field), "", 0, 0, OPT_IDENTITY, NULL,
      "field that is shortened if an input is longer than data.input_length; empty means that the whole input is" },
    { "task.cut_side", OPT_ENUM, AT(cut_side), "end", 0, 0, OPT_IDENTITY, side_names,
      "side of a long text that is cut off" },
};
#undef AT
const int n_task_options = G_N_ELEMENTS(task_options);

bool task_is_set(const TaskConfig *config)
{
    return *config->name || *config->data || *config->input;
}

LabelKind task_learns(const TaskConfig *config)
{
    const Task *named = task_find(config->name);
    if (*config->value)
        return LABELS_VALUE;
    if (*config->tags)
        return LABELS_TOKENS;
    if (*config->answers)
        return LABELS_SPAN;
    if (*config->choices)
        return LABELS_CHOICE;
    if (*config->label)
        return LABELS_SEQUENCE;
    return named && named->first && *config->target == '\0' ? named->learns : LABELS_NONE;
}

const char *task_nearest(const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    const Task *task;
    for (size_t i = 0; (task = task_at(i)); i++)
        g_ptr_array_add(names, (gpointer)task->name);
    g_ptr_array_add(names, NULL);
    return text_nearest(name, (const char *const *)names->pdata);
}

static bool find_named(Task *task, const char *name, GError **error)
{
    const Task *known = task_find(name);
    if (known) {
        *task = *known;
        return true;
    }
    const char *nearest = task_nearest(name);
    if (nearest)
        return fail_user(error, "task.name: no task is called %s, did you mean %s?", name, nearest);
    return fail_user(error, "task.name: no task is called %s; `loam task list` lists them", name);
}

const char *task_target_option(const TaskConfig *config)
{
    const char *learnt = *config->value ? "task.value" : *config->label ? "task.label" : NULL;
    return learnt && (config->classifies || *config->target == '\0') ? learnt : "task.target";
}

static const char *target_template(const TaskConfig *config)
{
    const char *learnt = *config->value ? config->value : *config->label ? config->label : NULL;
    return learnt && (config->classifies || *config->target == '\0') ? learnt : config->target;
}

/* Checks that the templates can be filled, and that the field to cut is in one. */
static bool check_templates(const Task *task, const TaskConfig *config, GError **error)
{
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free),
                         targets = g_ptr_array_new_with_free_func(g_free);
    if (task->make == NULL && task->input == NULL)
        return fail_user(error, "task.input is not set: a template such as \"sentence1: {a} sentence2: {b}\"");
    bool by_template = task->learns != LABELS_TOKENS && task->learns != LABELS_SPAN;
    if (by_template && task->make == NULL && task->target == NULL && task->references == NULL)
        return fail_user(error, task->learns ? "task.label is not set: a template such as \"{label}\""
                                             : "task.target is not set: a template such as \"{label}\"");
    if (task->input && !task_template_fields(task->input, fields, error))
        return fail_context(error, "task.input");
    if (task->target && !task_template_fields(task->target, targets, error))
        return fail_context(error, "%s", task_target_option(config));
    if (task->learns && task->second && !task_template_fields(task->second, fields, error))
        return fail_context(error, "task.second");
    if (*config->cut_field && task->input &&
        !g_ptr_array_find_with_equal_func(fields, config->cut_field, g_str_equal, NULL))
        return fail_user(error, "task.cut_field: the input \"%s\" has no {%s}", task->input, config->cut_field);
    return true;
}

static void set_text(const char **field, const char *given)
{
    if (*given)
        *field = given;
}

static const char *const kind_scores[] = {
    [LABELS_NONE] = "exact_match", [LABELS_SEQUENCE] = "accuracy", [LABELS_VALUE] = "pearson,spearman",
    [LABELS_TOKENS] = "seqeval",   [LABELS_SPAN] = "squad",        [LABELS_CHOICE] = "accuracy"
};

/* Changes the task to the variant for classifiers. */
static bool take_classifier(Task *task, const TaskConfig *config, GError **error)
{
    bool own_input = *config->input;
    task->pad_punctuation = false; /* only for T5's text formats, as are the special rules of tasks */
    task->make = NULL;
    task->grade = NULL;
    task->learns = task_learns(config);
    if (task->learns == LABELS_NONE && *config->name && *config->target == '\0')
        return fail_user(error,
                         "task.name=%s is text to text, and the model a classifier: give task.input and task.label",
                         config->name);
    if (task->learns == LABELS_NONE)
        return fail_user(error, "the model is a classifier, which writes no text: give task.label, task.value, "
                                "task.tags, task.answers or task.choices in place of task.target");
    if (!own_input && task->first)
        task->input = task->first;
    else
        task->second = NULL;
    set_text(&task->second, config->second);
    set_text(&task->tags, config->tags);
    set_text(&task->answers, config->answers);
    set_text(&task->choices, config->choices);
    if (*config->name == '\0' && *config->scores == '\0')
        task->scores = kind_scores[task->learns];
    if (task->learns == LABELS_VALUE)
        task->label = NULL;
    if (task->learns == LABELS_TOKENS || task->learns == LABELS_SPAN)
        task->target = NULL;
    if (task->learns != LABELS_SEQUENCE && task->learns != LABELS_TOKENS)
        task->labels = NULL;
    if (task->second == NULL && task->learns == LABELS_SPAN)
        return fail_user(error,
                         "task.second is not set: the template of the text that holds the answers, \"{context}\"");
    return task->learns != LABELS_CHOICE || *config->label ||
           fail_user(error, "task.label is not set: the template of the number of the right choice");
}

/* Fails for options that would be ignored: those for classifiers if the model generates text, and the one for
 * generation if it is a classifier. */
static bool check_taken(const TaskConfig *config, GError **error)
{
    const struct {
        const char *name, *value;
        bool classifies;
        const char *instead;
    } options[] = {
        { "task.second", config->second, true, "write both texts into task.input, \"sentence1: {a} sentence2: {b}\"" },
        { "task.tags", config->tags, true, "a text of all tags is task.target=\"tags: {tags}\"" },
        { "task.answers", config->answers, true, "name the field in task.target or task.references, \"answers.text\"" },
        { "task.choices", config->choices, true, "write the choices into task.input" },
        { "task.cut_field", config->cut_field, false, "of a pair the longer text loses tokens, on task.cut_side" },
    };
    const char *const kinds[][2] = { { "task.value", config->value },
                                     { "task.tags", config->tags },
                                     { "task.answers", config->answers },
                                     { *config->choices ? "task.choices" : "task.label",
                                       *config->choices ? config->choices : config->label } };
    const char *kind = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (*kinds[i][1] && kind)
            return fail_user(error, "%s and %s: a task has one kind of label, give one of them", kind, kinds[i][0]);
        kind = *kinds[i][1] ? kinds[i][0] : kind;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        if (*options[i].value && options[i].classifies != config->classifies)
            return fail_user(error, "%s=%s: %s; %s", options[i].name, options[i].value,
                             config->classifies ? "a classifier takes no such option"
                                                : "the model writes its answer (a T5, a GPT), and only a classifier "
                                                  "takes this option",
                             options[i].instead);
    return true;
}

/* Fails for braces around the name of a field in an option that is no template. */
static bool check_bare_names(const TaskConfig *config, GError **error)
{
    const char *const options[][2] = { { "task.tags", config->tags },
                                       { "task.answers", config->answers },
                                       { "task.choices", config->choices },
                                       { "task.references", config->references },
                                       { "task.cut_field", config->cut_field } };
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
        const char *option = options[i][0], *given = options[i][1];
        g_auto(GStrv) names = text_list(given);
        for (char **name = names; *name; name++) {
            const size_t n = strlen(*name);
            if (n > 2 && **name == '{' && (*name)[n - 1] == '}')
                return fail_user(error, "%s=%s: this option is no template, write the name of the field alone: %.*s",
                                 option, given, (int)n - 2, *name + 1);
        }
    }
    return true;
}

/* Whether two templates have the same fields. */
static bool same_fields(const char *a, const char *b)
{
    const char *const templates[] = { a, b };
    GPtrArray *fields[2];
    bool same = true;
    for (int i = 0; i < 2; i++) {
        fields[i] = g_ptr_array_new_with_free_func(g_free);
        task_template_fields(templates[i] ? templates[i] : "", fields[i], NULL);
    }
    same = fields[0]->len == fields[1]->len;
    for (guint i = 0; same && i < fields[0]->len; i++)
        same = g_ptr_array_find_with_equal_func(fields[1], fields[0]->pdata[i], g_str_equal, NULL);
    g_ptr_array_unref(fields[0]);
    g_ptr_array_unref(fields[1]);
    return same;
}

bool task_configure(Task *task, const TaskConfig *config, GError **error)
{
    *task = (Task){ .name = "own",
                    .source = { .rows = "", .columns = "" },
                    .scores = kind_scores[*config->value ? LABELS_VALUE : LABELS_NONE] };
    if ((*config->name && !find_named(task, config->name, error)) || !check_taken(config, error) ||
        !check_bare_names(config, error) || !labels_check(config->labels, "task.labels", error))
        return false;
    const char *target = target_template(config);
    if (*target && *config->labels == '\0' && !same_fields(target, task->target)) {
        /* the labels and rules of the task's table entry are those of its own fields */
        task->labels = NULL;
        task->label = NULL;
        task->references = NULL;
    }
    if (*config->input && *target)
        task->make = NULL;
    if (config->format != RECORD_AUTO)
        task->source.format = (RecordFormat)config->format;
    if (config->header != RECORD_BY_FORMAT)
        task->source.header = (RecordChoice)config->header;
    if (config->header == RECORD_YES)
        task->source.columns = ""; /* a file with a header has not the columns of the task's own files */
    if (*config->delimiter && !record_delimiter_find(&task->source.delimiter, config->delimiter))
        return fail_user(error, "task.delimiter=%s: one of , ; | and \\t is wanted", config->delimiter);
    if (config->quotes != RECORD_BY_FORMAT)
        task->source.quotes = (RecordChoice)config->quotes;
    set_text(&task->source.rows, config->rows);
    set_text(&task->source.columns, config->columns);
    set_text(&task->input, config->input);
    set_text(&task->target, target);
    set_text(&task->references, config->references);
    set_text(&task->labels, config->labels);
    set_text(&task->scores, config->scores);
    set_text(&task->positive, config->positive);
    if (!config->classifies)
        task->learns = LABELS_NONE;
    else if (!take_classifier(task, config, error))
        return false;
    return check_templates(task, config, error);
}

/* ---- files ---- */

/* Reads "5%" or "0.05"; false if the text is no number. */
static bool read_share(const char *text, double *share)
{
    char *end;
    *share = g_ascii_strtod(text, &end);
    bool percent = end != text && *end == '%';
    if (percent)
        *share /= 100;
    return end != text && end[percent] == '\0';
}

/* The path of a file in a folder; of several names, separated by commas, the list of their paths. */
static char *in_folder(const char *folder, const char *names)
{
    g_auto(GStrv) files = text_list(names);
    for (char **file = files; *file; file++) {
        g_autofree char *name = *file;
        *file = g_build_filename(folder, name, NULL);
    }
    return files[0] && !files[1] ? g_strdup(files[0]) : text_list_join((const char *const *)files);
}

/* The file `name` of the folder, or the path itself if it is not a folder. */
static char *find_task_file(const char *path, const char *name, const char *what, GError **error)
{
    if (strcmp(path, "-") == 0)
        return fail_user(error, "%s=-: the examples are read several times, standard input once: write them to a file",
                         what);
    if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        return g_strdup(path);
    if (name)
        return in_folder(path, name);
    if (foreign_check_folder(path, error))
        fail_user(error, "%s: %s is a folder; name a file", what, path);
    return NULL;
}

void task_use_copy(TaskConfig *config, const char *valid)
{
    g_autofree char *path = g_strconcat(valid, ".jsonl", NULL);
    config->held_out = g_file_test(path, G_FILE_TEST_EXISTS) ? g_intern_string(path) : NULL;
}

void task_file_clear(TaskFile *file)
{
    g_clear_pointer(&file->path, g_free);
}

bool task_files(const Task *task, const TaskConfig *config, TaskFile *train, TaskFile *valid, GError **error)
{
    double share = 0;
    *train = *valid = (TaskFile){ 0 };
    bool folder = g_file_test(config->data, G_FILE_TEST_IS_DIR);
    bool held_out = *config->valid && read_share(config->valid, &share);
    if (held_out && !(share > 0 && share < 1))
        return fail_user(
            error, "task.valid: %s is no percentage of the examples; write one such as 5%%, or the name of a file",
            config->valid);
    if (*config->data && !(train->path = find_task_file(config->data, task->train_file, "task.data", error)))
        return false;
    train->part = held_out ? TASK_PART_TRAIN : TASK_PART_ALL;
    if (held_out)
        *valid = (TaskFile){ .path = g_strdup(train->path), .part = TASK_PART_HELD_OUT, .share = share };
    else if (*config->valid)
        valid->path = find_task_file(config->valid, task->valid_file, "task.valid", error);
    else if (folder && task->valid_file)
        valid->path = in_folder(config->data, task->valid_file);
    train->share = share;
    if (config->held_out) {
        g_free(valid->path);
        *valid = (TaskFile){ .path = g_strdup(config->held_out), .part = TASK_PART_COPY };
    }
    if (valid->path || !*config->valid)
        return true;
    g_clear_pointer(&train->path, g_free);
    return held_out && fail_user(error, "task.valid: %s of what? task.data is not set", config->valid);
}
