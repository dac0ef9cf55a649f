/* task_prepare.c: the examples of a task as token datasets, and how long their texts are in tokens. */
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "data/dataset/dataset.h"
#include "data/task/special.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#define QUOTED_ROWS 1000 /* rows of a table in which quoted cells are looked for */

/* A dataset being written. */
typedef struct Output {
    TaskEncoder *encoder;
    TaskComparison *comparison;
    bool trains; /* its examples are trained on */
    DatasetWriter *writer;
    IoFile *copy;           /* the records (record_copy); NULL means that they are not kept */
    GArray *input, *target; /* int32_t */
    TaskInputs inputs;      /* token sequences, for classifiers */
    TaskValues values;      /* of LABELS_VALUE that are trained on */
    int64_t tokens;         /* tokens of inputs and targets, without encoded labels */
    int64_t examples;       /* of each, one or more documents */
    int64_t several;        /* those with several right answers, of which the first is trained on */
    int64_t unknown;        /* targets with an unknown token, which no model can write */
    char *some_unknown;     /* a shortest of them; NULL means none */
} Output;

static bool add_sequence(Output *output, const GArray *ids, GError **error)
{
    return dataset_writer_add(output->writer, (const int32_t *)(const void *)ids->data, ids->len, error);
}

/* Counts a target, whose ids are in output->target, if the tokenizer does not know a part of it. */
static void note_unknown(Output *output, const char *target)
{
    const bool found = task_has_unknown(output->encoder->tok, output->target);
    output->unknown += found;
    if (found && (!output->some_unknown || strlen(target) < strlen(output->some_unknown))) {
        g_free(output->some_unknown);
        output->some_unknown = g_strdup(target);
    }
}

static bool write_pair(Output *output, const Record *record, const TaskExample *example, const char *target,
                       GError **error)
{
    g_array_set_size(output->input, 0);
    g_array_set_size(output->target, 0);
    if (!task_encode_target(output->encoder, target, output->target, error) ||
        !task_encode_input(output->encoder, record, example, output->target->len, output->input, error))
        return false;
    note_unknown(output, target);
    output->tokens += (int64_t)output->input->len + output->target->len;
    return add_sequence(output, output->input, error) && add_sequence(output, output->target, error) &&
           dataset_writer_end_document(output->writer, error);
}

/* A document for each window of a text with answers, else one with all sequences; each with its encoded labels. */
static bool write_labels(Output *output, const Record *record, const TaskExample *example, GError **error)
{
    TaskInputs *inputs = &output->inputs;
    if (!task_encode_inputs(output->encoder, example, inputs, error))
        return false;
    int32_t n = output->encoder->task->learns == LABELS_SPAN ? task_inputs_count(inputs) : 1;
    for (int32_t s = 0; s < n; s++) {
        int32_t first = n > 1 ? g_array_index(inputs->cu, int32_t, s) : 0,
                end = n > 1 ? g_array_index(inputs->cu, int32_t, s + 1) : (int32_t)inputs->ids->len;
        g_array_set_size(output->input, 0);
        g_array_set_size(output->target, 0);
        g_array_append_vals(output->input, &g_array_index(inputs->ids, int32_t, first), (guint)(end - first));
        output->tokens += end - first;
        if (!task_encode_labels(output->encoder, record->where, example, inputs, s, output->target, error) ||
            !add_sequence(output, output->input, error) || !add_sequence(output, output->target, error) ||
            !dataset_writer_end_document(output->writer, error))
            return false;
    }
    return true;
}

/* Number of targets to train on. */
static guint count_targets(const Task *task, const TaskExample *example)
{
    return task->each_answer ? example->targets->len : MIN(example->targets->len, 1);
}

static bool write_example(Output *output, const Record *record, const TaskExample *example, GError **error)
{
    if (example->excluded)
        return true;
    output->examples++;
    if (output->encoder->task->learns == LABELS_VALUE && output->trains)
        task_values_add(&output->values, example->targets->pdata[0]);
    output->several += example->targets->len > 1 && !output->encoder->task->each_answer;
    if (output->encoder->task->learns)
        return write_labels(output, record, example, error);
    const guint n = count_targets(output->encoder->task, example);
    if (n == 0) /* a question without answer */
        return write_pair(output, record, example, "", error);
    for (guint i = 0; i < n; i++)
        if (!write_pair(output, record, example, example->targets->pdata[i], error))
            return false;
    return true;
}

static bool keep_record(const Output *output, const Record *record, GError **error)
{
    char *line = output->copy ? record_copy(record, output->encoder->task->source.rows) : NULL;
    const bool good =
        !line || (io_write(output->copy, line, strlen(line), error) && io_write(output->copy, "\n", 1, error));
    free(line);
    return good;
}

static bool take_example(void *context, const TaskExample *example, const Record *record, GError **error)
{
    const Output *output = context;
    task_comparison_add(output->comparison, example, output->trains);
    return write_example(context, record, example, error) && keep_record(context, record, error);
}

static void report_answers(const Output *output, const char *path)
{
    g_autofree char *all = text_grouped(output->writer->meta.counts.documents),
                    *several = text_grouped(output->several), *unknown = text_grouped(output->unknown);
    if (output->trains && output->several > 0)
        log_info("%s: %s examples have several right answers, of which the first is trained on", path, several);
    if (output->unknown > 0)
        log_warning("%s: %s of %s targets have characters that the tokenizer does not know, so no model can write "
                    "them, such as \"%s\"",
                    path, unknown, all, output->some_unknown);
}

static void report_examples(const Output *output, const TaskFile *file, int64_t skipped)
{
    const int64_t documents = output->writer->meta.counts.documents;
    g_autofree char *examples = text_grouped(output->examples), *sequences = text_grouped(documents),
                    *tokens = text_grouped(output->tokens), *left_out = text_grouped(skipped),
                    *parts =
                        documents > output->examples ? g_strdup_printf(" (%s sequences)", sequences) : g_strdup("");
    const bool passing = output->encoder->passing;
    log_info("%s%s: %s examples%s, %s tokens%s%s", file->path, file->part == TASK_PART_HELD_OUT ? ", held out" : "",
             examples, parts, tokens, passing ? "" : ", prepared as ", passing ? "" : output->writer->prefix);
    if (skipped > 0)
        log_warning("%s: %s rows were left out", file->path, left_out);
    report_answers(output, file->path);
    task_values_report(&output->values, file->path);
}

static bool prepare_examples(Output *output, const TaskFile *file, TaskReader *reader, GError **error)
{
    const DatasetCounts *written = &output->writer->meta.counts;
    if (!task_reader_each(reader, take_example, output, error))
        return false;
    if (written->documents == 0)
        return fail_user(error, "%s: %s", file->path,
                         task_reader_count(reader) == 0     ? "the file holds no examples"
                         : file->part == TASK_PART_HELD_OUT ? "the held-out share of task.valid has no example"
                                                            : "no example to train on");
    if (!dataset_writer_finish(output->writer, error))
        return false;
    if (!output->encoder->of_run)
        dataset_report_unknown(&output->writer->meta, file->path);
    report_examples(output, file, task_reader_skipped(reader));
    task_encoder_report(output->encoder, file->path);
    return true;
}

/* Closes output->copy; under its name only if the dataset is good. */
static bool publish_copy(Output *output, const char *path, bool good, GError **error)
{
    if (!good)
        io_discard(output->copy);
    return good && (output->copy == NULL || io_publish(output->copy, path, error));
}

/* Sets DatasetMeta.source_hash of examples that are read from `path`; to "" if that is not known. */
static void set_source_hash(char hash[17], const char *path)
{
    g_auto(GStrv) several = text_list(path);
    char *const one[] = { (char *)(uintptr_t)path, NULL };
    uint64_t of_all = 0;
    *hash = '\0';
    for (char *const *file = g_file_test(path, G_FILE_TEST_EXISTS) ? one : several; *file; file++) {
        /* a pipe has no bytes to come back to */
        g_autoptr(GMappedFile) bytes =
            g_file_test(*file, G_FILE_TEST_IS_REGULAR) ? g_mapped_file_new(*file, false, NULL) : NULL;
        if (!bytes)
            return;
        of_all = XXH3_64bits_withSeed(g_mapped_file_get_contents(bytes), g_mapped_file_get_length(bytes), of_all);
    }
    g_snprintf(hash, 17, "%016" PRIx64, of_all);
}

bool task_source_changed(const char *path, const char *prefix)
{
    g_autofree char *json = g_strconcat(prefix, ".json", NULL);
    g_auto(DatasetMeta) meta = { 0 };
    char now[sizeof meta.source_hash];
    if (!path || !dataset_meta_read(&meta, json, NULL))
        return false;
    set_source_hash(now, path);
    return *now && *meta.source_hash && strcmp(now, meta.source_hash) != 0;
}

/* keep: writes PREFIX.jsonl, too, a copy of the records. trains: the examples are trained on. */
static bool prepare_file(const TaskEncoder *encoder, const TaskFile *file, const char *prefix, bool keep, bool trains,
                         TaskComparison *comparison, GError **error)
{
    g_autofree char *path = g_strconcat(prefix, ".jsonl", NULL);
    TaskEncoder own = *encoder;
    DatasetMeta meta = dataset_meta_of(encoder->tok, false);
    meta.label_kind = encoder->task->learns;
    meta.labels = labels_have_names(meta.label_kind) ? (char *)(uintptr_t)encoder->labels : NULL;
    meta.held_out = file->part == TASK_PART_HELD_OUT;
    set_source_hash(meta.source_hash, file->path);
    g_autoptr(TaskReader) reader = task_reader_open(encoder->task, encoder->config, file, true, error);
    if (!reader)
        return false;
    Output output = { .encoder = &own,
                      .comparison = comparison,
                      .trains = trains,
                      .writer = dataset_writer_open(prefix, &meta, false, error),
                      .input = g_array_new(false, false, sizeof(int32_t)),
                      .target = g_array_new(false, false, sizeof(int32_t)),
                      .inputs = task_inputs_new() };
    bool good = output.writer && (!keep || (output.copy = io_create_beside(path, error))) &&
                prepare_examples(&output, file, reader, error);
    good = publish_copy(&output, path, good, error);
    dataset_writer_close(output.writer);
    g_array_unref(output.input);
    g_array_unref(output.target);
    task_inputs_free(&output.inputs);
    g_free(output.some_unknown);
    return good;
}

/* ---- warnings ---- */

static void advise_format(const Task *task, const TaskConfig *config, const char *path)
{
    RecordSource source = task->source;
    RecordFormat format;
    source.path = path;
    if (!record_source_format(&source, &format, NULL))
        return;
    const bool table = record_traits(format)->delimiter != 0;
    const struct {
        const char *name;
        bool given, works;
    } options[] = {
        { "task.header", config->header != RECORD_BY_FORMAT, table },
        { "task.columns", *config->columns != '\0', record_traits(format)->names_read },
        { "task.delimiter", *config->delimiter != '\0', table },
        { "task.quotes", config->quotes != RECORD_BY_FORMAT, table },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        if (options[i].given && !options[i].works)
            log_warning("%s: without effect, since the format of %s is %s", options[i].name, path,
                        record_format_names[format]);
}

/* Whether a cell is written as one of CSV with quotes in it: "a ""b""". */
static bool is_quoted(const char *cell)
{
    const size_t n = strlen(cell);
    bool twice = false;
    if (n < 4 || *cell != '"' || cell[n - 1] != '"')
        return false;
    for (const char *at = cell + 1; at < cell + n - 1; at++)
        if (*at == '"') {
            if (*++at != '"' || at == cell + n - 1)
                return false;
            twice = true;
        }
    return twice;
}

/* Asks about a table of one's own without quotes that has quoted cells, as pandas writes them. */
static void advise_quotes(const Task *task, const TaskConfig *config, const char *path)
{
    RecordSource source = task->source;
    Record record;
    const char *name;
    json_t *cell;
    bool quoted = *config->name || config->quotes != RECORD_BY_FORMAT || !g_file_test(path, G_FILE_TEST_IS_REGULAR);
    source.path = path;
    g_autoptr(RecordReader) reader = quoted ? NULL : record_reader_open(&source, NULL);
    const bool table = reader && record_traits(record_reader_format(reader))->delimiter;
    for (int i = 0; table && !quoted && i < QUOTED_ROWS && record_reader_next(reader, &record, NULL); i++)
        json_object_foreach((json_t *)(uintptr_t)record.levels[0], name, cell) quoted |=
            is_quoted(json_string_value(cell));
    if (table && quoted)
        log_warning(
            "%s: cells are quoted as in CSV, and the quotes are read as text: task.quotes=true reads them as in "
            "CSV, task.quotes=false keeps them",
            record.where);
}

/* Asks about a table without a header whose first row has a cell that is called as its column. If
 * all are, task_reader_next fails. */
static void advise_first_row(const Task *task, const char *path)
{
    RecordSource source = task->source;
    Record record;
    source.path = path;
    const bool twice = g_file_test(path, G_FILE_TEST_IS_REGULAR); /* unlike a pipe */
    g_autoptr(RecordReader) reader = twice ? record_reader_open(&source, NULL) : NULL;
    const bool table = reader && record_traits(record_reader_format(reader))->delimiter;
    const size_t named = table && record_reader_next(reader, &record, NULL)
                             ? task_named_cells(&source, record_reader_format(reader), &record)
                             : 0;
    if (named > 0 && named < json_object_size(record.levels[0]))
        log_warning("%s: a cell is called as its column (%s): if this row is the names of the columns, give "
                    "task.header=true",
                    record.where, record.columns);
}

/* Warns that the names of a task's labels do not apply to targets that are made of another field than the task's. */
static void advise_labels(const Task *task, const TaskConfig *config)
{
    const Task *named = task_find(config->name);
    const bool writes = task->learns == LABELS_NONE || labels_have_names(task->learns);
    if (named && named->labels && named->target && task->labels == NULL && task->target && writes)
        log_warning("the labels of task.name=%s (%s) are the values of %s: those of \"%s\" have no names, "
                    "which task.labels gives",
                    named->name, named->labels, named->target, task->target);
}

/* Warns about templates that give all examples the same text. */
static void advise_constant(const Task *task, const TaskConfig *config)
{
    const char *target = task_target_option(config) + strlen("task.");
    const struct {
        const char *kind, *template;
    } templates[] = { { "input", task->input }, { target, task->target } };
    for (size_t i = 0; task->make == NULL && i < G_N_ELEMENTS(templates); i++) {
        g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
        const char *template = templates[i].template;
        if (template && task_template_fields(template, fields, NULL) && fields->len == 0)
            log_warning("the task's %s \"%s\" has no {field}: it is the same in all examples", templates[i].kind,
                        template);
    }
}

/* Warns about options without effect for this file format or these scores, and about templates without a field. */
static void advise_task(const Task *task, const TaskConfig *config, const char *path)
{
    static const char *const of_positive[] = { "f1", "multirc", NULL };
    g_auto(GStrv) scores = text_list(task->scores);
    bool positive = false;
    for (char **score = scores; *score; score++)
        positive |= g_strv_contains(of_positive, *score);
    if (*config->positive && !positive)
        log_warning("task.positive: without effect, since task.scores is %s", task->scores);
    advise_constant(task, config);
    advise_labels(task, config);
    advise_format(task, config, path);
    advise_quotes(task, config, path);
    advise_first_row(task, path);
}

/* told: a line said already that the held-out file is trained on. */
static bool prepare_both(const TaskEncoder *encoder, const TaskFile *train, const TaskFile *valid, bool told,
                         const char *prefix, GError **error)
{
    g_autofree char *beside = g_strconcat(prefix, "-valid", NULL);
    TaskComparison *comparison = task_comparison_new(encoder->task);
    TaskFile trained = *train;
    trained.quiet = told || valid->part == TASK_PART_HELD_OUT; /* the pass before it has told of the same rows */
    const bool good =
        (!valid->path || prepare_file(encoder, valid, beside, !encoder->passing, false, comparison, error)) &&
        prepare_file(encoder, &trained, prefix, false, true, comparison, error);
    if (good && !encoder->passing)
        task_comparison_report(comparison, encoder->tok, train->path, told ? NULL : valid->path);
    task_comparison_free(comparison);
    return good;
}

bool task_prepare(const TaskEncoder *encoder, const char *prefix, GError **error)
{
    g_auto(TaskFile) train = { 0 }, valid = { 0 };
    if (!task_files(encoder->task, encoder->config, &train, &valid, error))
        return false;
    g_autofree char *folder = g_path_get_dirname(prefix);
    bool good = train.path || fail_user(error, "task.data is not set: a file of labelled data");
    if (good)
        advise_task(encoder->task, encoder->config, train.path);
    const bool same = good && task_files_same(&train, &valid);
    return good && io_make_directories(folder, error) && prepare_both(encoder, &train, &valid, same, prefix, error);
}

/* ---- lengths ---- */

static bool measure_example(void *context, const TaskExample *example, G_GNUC_UNUSED const Record *record,
                            GError **error)
{
    TaskEncoder *encoder = context;
    const guint n = count_targets(encoder->task, example);
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    if (example->excluded)
        return true;
    bool good = task_encode_input(encoder, NULL, example, 0, ids, error);
    for (guint i = 0; good && i < n; i++)
        good = task_encode_target(encoder, example->targets->pdata[i], ids, error);
    return good;
}

static bool measure_file(TaskEncoder *encoder, const TaskFile *file, GError **error)
{
    TaskFile quiet = *file;
    quiet.quiet = true;
    g_autoptr(TaskReader) reader = task_reader_open(encoder->task, encoder->config, &quiet, false, error);
    return reader && task_reader_each(reader, measure_example, encoder, error);
}

bool task_measure(const TaskEncoder *encoder, TaskLengths *longest, GError **error)
{
    TaskEncoder own = *encoder;
    g_auto(TaskFile) train = { 0 }, valid = { 0 };
    own.input_length = own.target_length = INT32_MAX;
    if (!task_files(encoder->task, encoder->config, &train, &valid, error))
        return false;
    const bool good =
        (!train.path || measure_file(&own, &train, error)) && (!valid.path || measure_file(&own, &valid, error));
    *longest = (TaskLengths){ own.longest_input, MAX(own.longest_target, 1) };
    return good;
}
