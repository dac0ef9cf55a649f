/* task_reader.c: the examples of a file, one after another. */
#include "base/foreign.h"
#include "base/log.h"
#include "data/task/lookup.h"
#include "data/task/task.h"

#include <string.h>
#include <xxhash.h>

#define LOGGED_ROWS   10 /* bad rows that are told one by one */
#define HELD_OUT_SEED 0x7461736b

struct TaskReader {
    const Task *task;
    const TaskConfig *config;
    TaskFile file; /* the file's description; its path is not used */
    RecordReader *records;
    Lookup *lookup; /* NULL means none */
    bool needs_target, skips;
    bool checked;          /* the templates, with the first record */
    int64_t skipped, read; /* read: examples of all parts */
};

TaskReader *task_reader_open(const Task *task, const TaskConfig *config, const TaskFile *file, bool needs_target,
                             GError **error)
{
    RecordSource source = task->source;
    const bool copy = file->part == TASK_PART_COPY;
    source.path = file->path;
    source.any_text = task->tests != TESTS_NONE; /* the program that runs tests gets the line as it is */
    if (copy)
        source.format = RECORD_COPY;
    if (g_file_test(file->path, G_FILE_TEST_IS_DIR)) {
        if (foreign_check_folder(file->path, error))
            fail_user(error, "%s is a folder; name a file", file->path);
        return NULL;
    }
    RecordReader *records = record_reader_open(&source, error);
    Lookup *lookup = NULL;
    if (!records)
        return NULL;
    if (task->lookup && !copy && !(lookup = lookup_open(file->path, task->lookup, task->looked_up, error))) {
        record_reader_close(records);
        return NULL;
    }
    TaskReader *reader = g_new0(TaskReader, 1);
    *reader = (TaskReader){ .task = task,
                            .config = config,
                            .file = *file,
                            .records = records,
                            .lookup = lookup,
                            .needs_target = needs_target,
                            .skips = task->skip_bad || config->on_error == TASK_SKIP };
    return reader;
}

void task_reader_close(TaskReader *reader)
{
    if (!reader)
        return;
    record_reader_close(reader->records);
    lookup_close(reader->lookup);
    g_free(reader);
}

int64_t task_reader_skipped(const TaskReader *reader)
{
    return reader->skipped;
}

int64_t task_reader_count(const TaskReader *reader)
{
    return reader->read;
}

/* Equal inputs are always in the same part. */
static bool belongs(const TaskReader *reader, const TaskExample *example)
{
    if (reader->file.part == TASK_PART_ALL || reader->file.part == TASK_PART_COPY)
        return true;
    XXH64_hash_t hash = XXH3_64bits_withSeed(example->input, strlen(example->input), HELD_OUT_SEED);
    if (example->second)
        hash = XXH3_64bits_withSeed(example->second, strlen(example->second), hash);
    for (guint i = 0; example->choices && i < example->choices->len; i++)
        hash = XXH3_64bits_withSeed(example->choices->pdata[i], strlen(example->choices->pdata[i]), hash);
    bool held_out = (double)(hash >> 11) * 0x1p-53 < reader->file.share;
    return held_out == (reader->file.part == TASK_PART_HELD_OUT);
}

/* Whether the reader continues after an error, which is then logged. */
static bool skip(TaskReader *reader, GError *problem)
{
    if (!reader->skips || problem->code != LOAM_ERROR_USER || !record_reader_goes_on(reader->records))
        return false;
    if (reader->skipped++ < LOGGED_ROWS)
        log_warning("left out: %s", problem->message);
    return true;
}

/* An error if a template is the name of a field, without braces: all its texts would be that name. */
static bool check_braces(const TaskReader *reader, const Record *record, GError **error)
{
    const Task *task = reader->task;
    const char *target = task_target_option(reader->config) + strlen("task.");
    const struct {
        const char *kind, *template;
    } templates[] = { { "input", task->input }, { target, task->target }, { "second text", task->second } };
    for (size_t i = 0; task->make == NULL && i < G_N_ELEMENTS(templates); i++) {
        const char *template = templates[i].template;
        if (template && !strpbrk(template, "{}") && record_value(record, template))
            return fail_user(error, "the task's %s \"%s\" has no {field}; did you mean \"{%s}\"?", templates[i].kind,
                             template, template);
    }
    return true;
}

/* With the first record: an error if a template lacks braces, or if a table lacks a column of a template, since all its
 * rows would be bad. */
static bool check_columns(TaskReader *reader, const Record *record, GError **error)
{
    const Task *task = reader->task;
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
    if (reader->checked)
        return true;
    reader->checked = true;
    if (!check_braces(reader, record, error))
        return false;
    if (record->columns == NULL)
        return true;
    if (task->input && !task_template_fields(task->input, fields, error))
        return false;
    if (task->target && reader->needs_target && !task_template_fields(task->target, fields, error))
        return false;
    for (guint i = 0; i < fields->len; i++)
        if (!record_value(record, fields->pdata[i]))
            return record_fail_missing(record, fields->pdata[i], error);
    return true;
}

/* The example of a record; false with an error if it is bad. */
static bool read_example(const TaskReader *reader, const Record *record, TaskExample *example, GError **error)
{
    if (!task_make(reader->task, record, reader->needs_target, example, error))
        return false;
    if (task_check_example(reader->task, reader->config, record->where, reader->needs_target, example, error))
        return true;
    task_example_clear(example);
    return false;
}

bool task_reader_next(TaskReader *reader, TaskExample *example, Record *record, GError **error)
{
    for (;;) {
        GError *problem = NULL;
        bool found = record_reader_next(reader->records, record, &problem);
        if (!found && !problem)
            return false;
        const bool filled = found && (!reader->lookup || lookup_fill(reader->lookup, record, &problem));
        if (filled && !check_columns(reader, record, error))
            return false;
        if (filled && read_example(reader, record, example, &problem)) {
            reader->read++;
            if (belongs(reader, example))
                return true;
            task_example_clear(example);
            continue;
        }
        if (!skip(reader, problem)) {
            bool can = problem->code == LOAM_ERROR_USER && record_reader_goes_on(reader->records);
            g_set_error(error, problem->domain, problem->code, "%s%s", problem->message,
                        can ? "; task.on_error=skip leaves such rows out" : "");
            g_error_free(problem);
            return false;
        }
        g_error_free(problem);
    }
}
