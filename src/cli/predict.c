/* predict.c: `loam predict`: a fine-tuned model answers lines of standard input. */
#include "base/foreign.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/answers_file.h"
#include "cli/prompts.h"
#include "cli/task_model.h"
#include "data/labels.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define USAGE                                                                                                          \
    "loam predict MODEL [--jsonl | --raw] [--json] [--beams K | --rank sum|bytes|tokens] [--out FILE] "                \
    "[group.key=value]… < LINES"

static const char about[] =
    "Lets a fine-tuned model answer every line of standard input with one line. A line holds the fields of the task's "
    "input\n"
    "template in order, separated by tabs; with --jsonl it is a JSON object with these fields, with --raw it is the "
    "whole\n"
    "input without a template. MODEL is a run directory, a checkpoint or a Hugging Face folder. A run has stored its "
    "task;\n"
    "for other models give task.input, or --raw. The precision is that of the run unless train.precision is given.\n"
    "--rank chooses the most likely label instead of generating text, from task.labels or from the labels that "
    "it was trained on.\n"
    "\n"
    "  echo \"a film to forget\" | loam predict runs/reviews\n"
    "  loam predict runs/reviews --out answers.jsonl <millions.txt\n";

static gboolean as_jsonl, raw, as_json;
static int64_t beams = 1;
static char *out_path, *rank_by;
static gboolean no_eos;
static char *on_error;
static bool skips; /* value of --on-error */
static const GOptionEntry entries[] = {
    CLI_SWITCH("jsonl", as_jsonl, "lines are JSON objects with the fields of the task"),
    CLI_SWITCH("raw", raw, "a line is the whole input, without template"),
    CLI_SWITCH("json", as_json, "print one JSON object per line: input, prediction, logprob"),
    CLI_VALUE("beams", beams, "K", "beam search with K hypotheses (default 1: greedy decoding)"),
    CLI_RANK(rank_by, ""),
    CLI_ON_ERROR(on_error, "a line"),
    CLI_SWITCH("no-eos", no_eos, "with --rank: do not append EOS to labels"),
    CLI_PATH("out", out_path, "FILE",
             "write answers to this file as JSON lines; after an interruption the same command continues the file"),
    { 0 },
};

typedef struct Predictor {
    const LoadedModel *loaded;
    AnswersFile *out; /* NULL means standard output */
    const Task *task; /* NULL means that each line is a whole input */
    bool single;      /* a line that is a whole input is one text: the model's task has no second one */
    TaskEncoder encoder;
    AnswerOptions decoding;
    Ranking *ranking;  /* NULL means that the model generates its answers */
    GPtrArray *fields; /* char *: fields of the input's template */
    AnswerBatch batch;
} Predictor;

/* ---- lines ---- */

/* The fields of a line in their order: "a, b". g_free. */
static char *field_names(const Predictor *p)
{
    GString *names = g_string_new(NULL);
    for (guint i = 0; i < p->fields->len; i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", (const char *)p->fields->pdata[i]);
    return g_string_free(names, false);
}

static json_t *split_line(const Predictor *p, const char *line, GError **error)
{
    g_auto(GStrv) cells = g_strsplit(line, "\t", -1);
    const guint n = MAX(g_strv_length(cells), 1), wanted = p->fields->len; /* an empty line is one empty cell */
    if (n == wanted) {
        json_t *row = json_object();
        for (guint i = 0; i < n; i++)
            json_object_set_new(row, p->fields->pdata[i], json_string(*line ? cells[i] : line));
        return row;
    }
    g_autofree char *names = field_names(p);
    return fail_user(
        error, "%u cell%s between tabs where %u %s wanted (%s); --jsonl takes objects, whose texts may hold tabs%s", n,
        n == 1 ? "" : "s", wanted, wanted == 1 ? "is" : "are", names,
        p->task->learns ? "" : ", --raw whole inputs"); /* a classifier takes whole inputs as cells, too */
}

static json_t *read_object(const char *line, GError **error)
{
    json_error_t reason;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &reason);
    if (object == NULL && !json_fail(&reason, error))
        fail_context(error, "column %d", reason.column);
    else if (!json_is_object(object))
        fail_user(error, "an object with the fields of the task is wanted");
    if (json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

/* Fills the example from a line that is the whole input: for a classifier a text, a pair of texts separated by a tab,
 * or words separated by spaces. */
static void take_whole(const Predictor *p, const char *line, TaskExample *example)
{
    const char *tab = p->encoder.task->learns ? strchr(line, '\t') : NULL;
    example->targets = g_ptr_array_new();
    example->input = tab ? g_strndup(line, (gsize)(tab - line)) : g_strdup(line);
    example->second = tab ? g_strdup(tab + 1) : NULL;
    if (p->encoder.task->learns != LABELS_TOKENS)
        return;
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    example->words = g_ptr_array_new_with_free_func(g_free);
    for (char **word = words; *word; word++)
        if (**word)
            g_ptr_array_add(example->words, g_strdup(*word));
}

/* Converts a line to an example, adds it to the batch and to `examples`. */
static bool predict_line(Predictor *p, const char *line, GPtrArray *examples, GError **error)
{
    TaskExample *example = g_new0(TaskExample, 1);
    g_ptr_array_add(examples, example);
    const char *bad;
    if (!g_utf8_validate(line, -1, &bad))
        return foreign_fail_byte("the line", *bad, error);
    if (p->single && strchr(line, '\t'))
        return fail_user(error, "a tab, and the model's task reads one text, not a pair: give the text alone");
    if (p->task == NULL) {
        take_whole(p, line, example);
        return answer_batch_add(&p->batch, &p->encoder, NULL, example, error);
    }
    json_auto_t *row = as_jsonl ? read_object(line, error) : split_line(p, line, error);
    const Record record = { .levels = { row }, .n_levels = 1, .where = "the example" };
    return row && task_make(p->task, &record, false, example, error) &&
           answer_batch_add(&p->batch, &p->encoder, &record, example, error);
}

/* Whether a line names the columns of a table, of which there may be one, and the fields of the task are among them. */
static bool is_header(const Predictor *p, const char *line)
{
    static const char *const delimiters[] = { ",", ";", "\t", "|" };
    bool found = false;
    for (size_t i = 0; !found && i < G_N_ELEMENTS(delimiters); i++) {
        g_auto(GStrv) cells = g_strsplit(line, delimiters[i], -1);
        found = true;
        for (char **cell = cells; *cell; cell++) {
            const size_t n = strlen(*cell);
            found &= n > 0 && !g_ascii_isspace(**cell); /* unlike a sentence with commas */
            if (n > 1 && **cell == '"' && (*cell)[n - 1] == '"') {
                (*cell)[n - 1] = '\0';
                memmove(*cell, *cell + 1, n - 1);
            }
        }
        for (guint f = 0; f < p->fields->len; f++) {
            const char *field = p->fields->pdata[f];
            /* a number is that of a column, as in a table without header, whose first line may hold it */
            found &= field[strspn(field, "0123456789")] && g_strv_contains((const char *const *)cells, field);
        }
    }
    return found;
}

/* Fails if the first line is the header of a table, since its rows would be answered as texts. */
static bool check_first_line(const Predictor *p, const Prompt *first, GError **error)
{
    g_autofree char *text = g_strchomp(g_strdup(first->text));
    if (first->line != 1 || as_jsonl || !p->task || p->fields->len == 0 || !is_header(p, text))
        return true;
    if (!strpbrk(text, ",;\t|"))
        return fail_user(error,
                         "standard input begins with %s, the name of the task's field: leave the header of the table "
                         "out; with --jsonl a line {\"%s\": TEXT} may have any text",
                         text, (char *)p->fields->pdata[0]);
    return fail_user(error,
                     "standard input is a table with the columns %s, whose rows would be read as texts: loam eval "
                     "MODEL --task --out ANSWERS.jsonl task.valid=TABLE answers it; loam predict --jsonl answers its "
                     "rows as JSON lines",
                     text);
}

/* ---- answers ---- */

/* All classes' probabilities: {"negative": 0.1, "positive": 0.9}, of choices {"0": 0.1, "1": 0.9}; NULL if none. */
static json_t *probabilities_json(const Predictor *p, const Answer *answer)
{
    const ModelConfig *config = model_config(p->loaded->model);
    if (answer->probabilities == NULL)
        return NULL;
    json_t *object = json_object();
    for (int64_t i = 0; i < answer->n_probabilities; i++) {
        g_autofree char *name =
            config->classifier == LABELS_CHOICE ? g_strdup_printf("%" PRId64, i) : labels_name(config->labels, i);
        json_object_set_new(object, name, json_real(answer->probabilities[i]));
    }
    return object;
}

static json_t *answer_json(const Predictor *p, const TaskExample *example, const Answer *answer)
{
    bool replaced = false;
    g_autofree char *text = valid_text(answer->text, &replaced);
    return json_pack("{s:s*, s:s, s:s*, s:s, s:f, s:o*, s:o*}", "id", example->id, "input", example->input, "second",
                     example->second, "prediction", text, "logprob", answer->logprob, "probabilities",
                     probabilities_json(p, answer), "label_logprobs", ranking_logprobs(p->ranking, answer));
}

static bool give_answer(const Predictor *p, const char *line, const TaskExample *example, const Answer *answer,
                        GError **error)
{
    if (p->out)
        return answers_file_add(p->out, answer_json(p, example, answer), line, strlen(line), error);
    if (as_json)
        return print_json_line(answer_json(p, example, answer), error);
    g_autofree char *text = one_line(answer->text);
    puts(text);
    return true;
}

/* *first becomes the index of the first line that the file of answers has no answer to. */
static bool skip_stored(const Predictor *p, const GPtrArray *lines, guint *first, GError **error)
{
    for (*first = 0; p->out && *first < lines->len; ++*first) {
        const char *line = ((Prompt *)lines->pdata[*first])->text;
        json_t *answer;
        if (!answers_file_next(p->out, line, strlen(line), &answer, error))
            return false;
        if (answer == NULL)
            return true;
        json_decref(answer);
    }
    return true;
}

/* Adds the lines to the batch, up to the first invalid one; with --on-error skip removes invalid ones from `lines`. */
static bool add_lines(Predictor *p, PromptReader *reader, GPtrArray *lines, GPtrArray *examples, GError **error)
{
    for (guint i = 0; i < lines->len;) {
        const Prompt *line = lines->pdata[i];
        GError *bad = NULL;
        if (predict_line(p, line->text, examples, &bad)) {
            i++;
            continue;
        }
        fail_context(&bad, "standard input, line %" PRId64, line->line);
        if (!prompts_skip(reader, &bad))
            return fail_with(error, bad);
        g_ptr_array_remove_index(lines, i);
        g_ptr_array_set_size(examples, (gint)i);
    }
    return true;
}

/* Answers one batch of lines, up to the first invalid one.
 * The last bits of an answer depend on the other inputs in its batch. So if an interrupted command stored only some
 * answers of a batch, the whole batch is computed again and only the missing answers are stored: the file equals that
 * of an uninterrupted command. */
static bool answer_lines(void *context, PromptReader *reader, GPtrArray *lines, GError **error)
{
    Predictor *p = context;
    if (!check_first_line(p, lines->pdata[0], error))
        return false;
    g_autoptr(GPtrArray) examples = g_ptr_array_new_with_free_func(task_example_free);
    g_autofree Answer *found = g_new0(Answer, lines->len);
    GError *bad = NULL;
    guint begin = 0;
    answer_batch_clear(&p->batch);
    add_lines(p, reader, lines, examples, &bad);
    const int32_t n = answer_batch_count(&p->batch);
    bool good = skip_stored(p, lines, &begin, error);
    good = good && ((guint)n <= begin ||
                    answer_batch_run(&p->batch, 0, n, p->loaded->model, &p->encoder, &p->decoding, found, error));
    for (int32_t i = 0; i < n; i++) {
        const char *line = ((Prompt *)lines->pdata[i])->text;
        good = good && ((guint)i < begin || give_answer(p, line, examples->pdata[i], &found[i], error));
        answer_clear(&found[i]);
    }
    good = good && (fflush(stdout) == 0 || fail_errno(error, "writing", "standard output"));
    if (bad && good)
        g_propagate_error(error, bad);
    else
        g_clear_error(&bad);
    return good && (error == NULL || *error == NULL);
}

/* ---- the verb ---- */

static bool open_predicted_task(Predictor *p, Task *task, const Config *config, const char *model_path, GError **error)
{
    const LoadedModel *loaded = p->loaded;
    const ModelConfig *model = model_config(loaded->model);
    const bool several_fields = model->classifier == LABELS_SPAN || model->classifier == LABELS_CHOICE;
    if (model->n_dec == 0 && model->classifier == LABELS_NONE)
        return fail_user(error, "%s has no decoder that writes text, and no classifier: fine-tune it on a task first",
                         model_path);
    if (raw && several_fields)
        return fail_user(error, "%s answers questions of several fields: --raw does not fit, give its task",
                         model_path);
    if (raw) {
        p->single = model->classifier != LABELS_NONE && task_is_set(&config->task) &&
                    task_configure(task, &config->task, NULL) && !task->second;
        *task = (Task){ .name = "", .scores = "", .learns = (LabelKind)model->classifier };
    }
    if (!raw && !several_fields && !task_is_set(&config->task))
        return fail_user(error,
                         "%s was not trained on a task: give --raw, and a line is the whole input, or name its task: "
                         "task.name=NAME (loam task list), or task.input and task.target with task.data",
                         model_path);
    if (!raw && !task_of_model(task, config, loaded, model_path, error))
        return false;
    if (!raw) {
        if (task->learns && beams > 1)
            return fail_user(error, "%s has a classifier: --beams is for models that write text", model_path);
        p->task = task;
        if (task->make == NULL && !task_template_fields(task->input, p->fields, error))
            return false;
        if (task->learns && task->second && !task_template_fields(task->second, p->fields, error))
            return false;
        g_auto(GStrv) choices = text_list(task->choices);
        for (char **choice = choices; *choice; choice++)
            g_ptr_array_add(p->fields, g_strdup(*choice));
        if (!as_jsonl && p->fields->len == 0)
            return fail_user(error, "the input of the task %s is made of nested fields: give JSON lines with --jsonl",
                             task->name);
    }
    if (!as_jsonl && p->fields->len > 1) {
        g_autofree char *names = field_names(p);
        log_info("a line holds, between tabs: %s", names);
    }
    p->encoder = task_encoder(task, config, loaded);
    p->decoding = (AnswerOptions){ .max_tokens = p->encoder.target_length > 0 ? p->encoder.target_length : 128,
                                   .beams = (int32_t)beams };
    p->encoder.target_length = p->decoding.max_tokens;
    return true;
}

/* The labels of --rank: task.labels, else all distinct right answers that the run was trained on, else those in
 * task.data, else in task.valid. */
static char **find_labels(const Predictor *p, const Config *config, GError **error)
{
    g_auto(TaskFile) train = { 0 }, valid = { 0 };
    const Task of_options = { .target = config->task.target, .labels = config->task.labels };
    if (*config->task.labels)
        return task_label_texts(p->task ? p->task : &of_options);
    if (!p->task || !(p->task->labels || *config->task.data || *config->task.valid))
        return fail_user(error, "--rank chooses among labels: name them, task.labels=good,bad");
    if (!p->task->labels && !task_files(p->task, &config->task, &train, &valid, error))
        return NULL;
    return rank_collect_labels(p->task, &config->task, p->encoder.tok,
                               train.path && !config->task.trained ? &train : &valid, error);
}

static bool open_ranking(Predictor *p, const Config *config, GError **error)
{
    if (!rank_by)
        return true;
    if (p->encoder.task->learns)
        return fail_user(error, "the model has a classifier: --rank is for models that write text");
    const RankOptions options = { .by = (RankBy)rank_find(rank_by),
                                  .joined = p->encoder.joined,
                                  .eos = !no_eos,
                                  .before = task_frame_before_target(&p->encoder) };
    g_auto(GStrv) labels = find_labels(p, config, error);
    if (!labels || !(p->ranking = ranking_open(p->encoder.tok, labels, &options, error)))
        return false;
    p->decoding.ranking = p->ranking;
    p->encoder.target_length = p->ranking->longest;
    return true;
}

static bool open_out(Predictor *p, const Config *config, GError **error)
{
    g_autofree char *task = task_settings(config, &p->encoder, beams),
                    *rank = p->ranking ? g_strdup_printf(" rank=%016" PRIx64, ranking_hash(p->ranking)) : g_strdup(""),
                    *settings = g_strdup_printf("%s%s%s%s", task, raw ? " raw" : "", as_jsonl ? " jsonl" : "", rank);
    return out_path == NULL ||
           (p->out = answers_file_open(out_path, model_hash(p->loaded, settings), "standard input", error)) != NULL;
}

static bool predict(const LoadedModel *loaded, const Config *config, const char *model_path, GError **error)
{
    const PromptFormat format = { .as_lines = true, .skip_errors = skips };
    Task task = { .name = "" };
    Predictor p = { .loaded = loaded, .fields = g_ptr_array_new_with_free_func(g_free), .batch = answer_batch_new() };
    bool good = open_predicted_task(&p, &task, config, model_path, error) && open_ranking(&p, config, error) &&
                open_out(&p, config, error) &&
                prompts_each(STDIN_FILENO, "standard input", &format, ANSWER_BATCH, answer_lines, &p, error);
    if (p.out)
        good = answers_file_close(p.out, good, error);
    if (good)
        task_encoder_report(&p.encoder, "standard input");
    ranking_close(p.ranking);
    answer_batch_free(&p.batch);
    g_ptr_array_unref(p.fields);
    return good;
}

/* Fails if a file is given where options are: lines come from standard input. */
static bool check_arguments(int argc, char **argv, GError **error)
{
    for (int i = 2; i < argc; i++) {
        if (strchr(argv[i], '=') || !g_file_test(argv[i], G_FILE_TEST_EXISTS))
            continue;
        g_autofree char *model = text_shell_word(argv[1]), *file = text_shell_word(argv[i]);
        return fail_user(error, "%s is no option: lines come from standard input: loam predict %s < %s", argv[i], model,
                         file);
    }
    return true;
}

bool verb_predict(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no model given; usage: " USAGE);
    if (!check_arguments(argc, argv, error) || !cli_check_suffix("out", out_path, ".jsonl", error))
        return false;
    if (as_jsonl && raw)
        return fail_user(error, "--jsonl takes objects and --raw whole inputs: give one of them");
    if (beams < 1 || beams > 256)
        return fail_user(error, "--beams %" PRId64 " is out of range: 1 to 256", beams);
    if (!ranking_check_options(rank_by, no_eos, beams, error) || !cli_parse_on_error(&skips, on_error, error))
        return false;
    g_auto(Config) config = { 0 };
    g_auto(LoadedModel) loaded = { 0 };
    return cli_model_config(&config, argv[1], argv + 2, argc - 2, error) &&
           cli_open_model(&loaded, argv[1], &config, true, argv + 2, argc - 2, error) &&
           predict(&loaded, &config, argv[1], error);
}
