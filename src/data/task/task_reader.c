/* task_reader.c: the examples of a file, one after another. */
#include "base/foreign.h"
#include "base/log.h"
#include "base/text.h"
#include "data/task/special.h"

#include <string.h>
#include <xxhash.h>

#define LOGGED_ROWS   10        /* bad rows that are told one by one */
#define MANY_ROWS     (1 << 15) /* examples after which a progress bar is shown */
#define HELD_OUT_SEED 0x7461736b
#define KEY           "idx" /* the field of an object's index in Task.lookup */

/* ---- records that refer to objects of another file ---- */

/* The objects of another file by their index: pairs of BigCloneBench refer to functions by index. */
typedef struct Lookup {
    char *path;
    GStrv fields;
    GHashTable *objects; /* text of the key -> json_t */
} Lookup;

/* The text of a field that has exactly one; else NULL. g_free. */
static char *key_text(const Record *record, const char *field)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    if (!record_texts(record, field, texts, &(bool){ false }, NULL) || texts->len != 1)
        return NULL;
    return g_strdup(texts->pdata[0]);
}

static bool read_objects(Lookup *lookup, GError **error)
{
    const RecordSource source = { .path = lookup->path, .format = RECORD_JSONL, .rows = "", .columns = "" };
    g_autoptr(RecordReader) reader = record_reader_open(&source, error);
    GError *problem = NULL;
    Record record;
    while (reader && !problem && record_reader_next(reader, &record, &problem)) {
        char *key = key_text(&record, KEY);
        if (!key)
            record_fail_missing(&record, KEY, &problem);
        else if (!g_hash_table_insert(lookup->objects, key, json_deep_copy(record.levels[0])))
            fail_user(&problem, "%s: a second " KEY " %s", record.where, key);
    }
    return reader && (!problem || fail_with(error, problem));
}

static void lookup_close(Lookup *lookup)
{
    if (!lookup)
        return;
    g_hash_table_unref(lookup->objects);
    g_strfreev(lookup->fields);
    g_free(lookup->path);
    g_free(lookup);
}

/* Reads the file `name`, of JSON lines, in the folder of the file `path`. fields: names of the fields that hold
 * indices, separated by commas. */
static Lookup *lookup_open(const char *path, const char *name, const char *fields, GError **error)
{
    Lookup *lookup = g_new0(Lookup, 1);
    g_autofree char *folder = g_path_get_dirname(path);
    lookup->path = g_build_filename(folder, name, NULL);
    lookup->fields = text_list(fields);
    lookup->objects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)json_decref);
    if (!read_objects(lookup, error))
        g_clear_pointer(&lookup, lookup_close);
    return lookup;
}

/* Replaces the value of each of these fields in a record by the object of the other file whose `idx` equals it. */
static bool lookup_fill(const Lookup *lookup, const Record *record, GError **error)
{
    for (char **field = lookup->fields; *field; field++) {
        g_autofree char *key = key_text(record, *field);
        if (!key)
            return record_fail_missing(record, *field, error);
        json_t *object = g_hash_table_lookup(lookup->objects, key);
        if (!object)
            return fail_user(error, "%s: %s: %s has no object whose " KEY " is %s", record->where, *field, lookup->path,
                             key);
        json_object_set((json_t *)(uintptr_t)record->levels[0], *field, object);
    }
    return true;
}

/* ---- reading ---- */

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

/* RecordSource.fields: those that the task's templates and names use; NULL if a function makes its examples. */
static GPtrArray *list_fields(const Task *task, const TaskConfig *config)
{
    const char *const templates[] = { task->input, task->first, task->second, task->target, task->id, task->group },
                      *const lists[] = { task->references, task->tags,      task->answers,
                                         task->choices,    task->looked_up, config->cut_field };
    GPtrArray *fields = task->make ? NULL : g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; fields && i < G_N_ELEMENTS(templates); i++)
        if (templates[i] && strpbrk(templates[i], "{}"))
            task_template_fields(templates[i], fields, NULL);
    for (size_t i = 0; fields && i < G_N_ELEMENTS(lists); i++) {
        g_autofree GStrv names = text_list(lists[i] ? lists[i] : "");
        for (char **name = names; *name; name++)
            g_ptr_array_add(fields, *name);
    }
    if (fields)
        g_ptr_array_add(fields, NULL);
    return fields;
}

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
    g_autoptr(GPtrArray) fields = list_fields(task, config);
    source.fields = fields ? (char *const *)fields->pdata : NULL;
    g_autoptr(RecordReader) records = record_reader_open(&source, error);
    Lookup *lookup = NULL;
    if (!records)
        return NULL;
    if (task->lookup && !copy && !(lookup = lookup_open(file->path, task->lookup, task->looked_up, error)))
        return NULL;
    TaskReader *reader = g_new0(TaskReader, 1);
    *reader = (TaskReader){ .task = task,
                            .config = config,
                            .file = *file,
                            .records = g_steal_pointer(&records),
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

uint64_t task_input_hash(const TaskExample *example)
{
    XXH64_hash_t hash = XXH3_64bits_withSeed(example->input, strlen(example->input), HELD_OUT_SEED);
    if (example->second)
        hash = XXH3_64bits_withSeed(example->second, strlen(example->second), hash);
    for (guint i = 0; example->choices && i < example->choices->len; i++)
        hash = XXH3_64bits_withSeed(example->choices->pdata[i], strlen(example->choices->pdata[i]), hash);
    return hash;
}

/* Equal inputs are always in the same part. */
static bool belongs(const TaskReader *reader, const TaskExample *example)
{
    if (reader->file.part == TASK_PART_ALL || reader->file.part == TASK_PART_COPY)
        return true;
    bool held_out = (double)(task_input_hash(example) >> 11) * 0x1p-53 < reader->file.share;
    return held_out == (reader->file.part == TASK_PART_HELD_OUT);
}

/* Whether the reader continues after an error, which is then logged, unless another pass does so. */
static bool skip(TaskReader *reader, GError *problem)
{
    if (!reader->skips || problem->code != LOAM_ERROR_USER || !record_reader_goes_on(reader->records))
        return false;
    if (!reader->file.quiet && reader->skipped++ < LOGGED_ROWS)
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

/* An error if the target is one column of a CoNLL file: a list, of which each word's would be a right answer. */
static bool check_column_target(const TaskReader *reader, const Record *record, GError **error)
{
    const char *target = reader->task->target;
    if (record_reader_format(reader->records) != RECORD_CONLL || reader->task->learns || !target)
        return true;
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
    task_template_fields(target, fields, NULL);
    g_autofree char *only = g_strdup_printf("{%s}", fields->len ? (const char *)fields->pdata[0] : "");
    return strcmp(target, only) != 0 ||
           fail_user(error,
                     "%s: the target \"%s\" is the list of a sentence's words, of which each would be a right answer; "
                     "with other text, such as \"tags: %s\", it is all of them",
                     record->where, target, target);
}

size_t task_named_cells(const RecordSource *source, RecordFormat format, const Record *record)
{
    size_t n = 0;
    bool named = false;
    const char *name;
    json_t *cell;
    if (source->header != RECORD_BY_FORMAT || !source->columns || !*source->columns ||
        !record_traits(format)->delimiter)
        return 0;
    json_object_foreach((json_t *)(uintptr_t)record->levels[0], name, cell)
    {
        const char *own = json_string_value(cell); /* NULL: what another file has for the cell */
        g_autofree char *text = own ? g_strstrip(g_strdup(own)) : NULL;
        const bool same = text && g_ascii_strcasecmp(text, name) == 0;
        n += same;
        named |= same && *name;
    }
    return named ? n : 0;
}

/* Whether the task names a column otherwise than by its number, which may also be what the table calls a column. */
static bool names_column(const Task *task, const Record *record)
{
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
    const char *const templates[] = { task->input, task->target, task->second };
    bool named = task->tags || task->choices || task->answers;
    for (size_t i = 0; i < G_N_ELEMENTS(templates); i++)
        if (templates[i])
            task_template_fields(templates[i], fields, NULL);
    for (guint i = 0; i < fields->len; i++) {
        const char *field = fields->pdata[i];
        named |= field[strspn(field, "0123456789")] || json_object_get(record->levels[0], field);
    }
    return named || fields->len == 0;
}

/* An error if a table's columns are named by number only, and nothing says whether its first line is their names: if it
 * were taken for names, a table without them would lose a row. */
static bool check_numbered(const TaskReader *reader, const Record *record, GError **error)
{
    const RecordSource *source = &reader->task->source;
    if (source->header != RECORD_BY_FORMAT || (source->columns && *source->columns) ||
        !record_traits(record_reader_format(reader->records))->delimiter || names_column(reader->task, record))
        return true;
    return fail_user(error,
                     "%.*s: the task names columns by number, so the first line (%s) may be their names or data: give "
                     "task.header=true if it is names, task.header=false if it is data",
                     (int)(strrchr(record->where, ':') - record->where), record->where, record->columns);
}

/* With the first record: an error if it is a table's header, if a template lacks braces, or if a table lacks a column
 * of a template, since all its rows would be bad. */
static bool check_columns(TaskReader *reader, const Record *record, GError **error)
{
    const Task *task = reader->task;
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
    if (reader->checked)
        return true;
    reader->checked = true;
    const size_t named = task_named_cells(&task->source, record_reader_format(reader->records), record);
    if (named > 0 && named == json_object_size(record->levels[0]))
        return fail_user(error,
                         "%s: the cells are \"%s\", as the columns are called: is this row their names? "
                         "task.header=true if it is, task.header=false if it is data",
                         record->where, record->columns);
    if (!check_numbered(reader, record, error) || !check_braces(reader, record, error) ||
        !check_column_target(reader, record, error))
        return false;
    if (record->columns == NULL)
        return true;
    if (task->input && !task_template_fields(task->input, fields, error))
        return false;
    if (task->target && reader->needs_target && !task_template_fields(task->target, fields, error))
        return false;
    for (guint i = 0; i < fields->len; i++)
        if (!record_has(record, fields->pdata[i]))
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

bool task_reader_each(TaskReader *reader, TaskExampleFn use, void *context, GError **error)
{
    TaskExample example;
    Record record;
    GError *problem = NULL;
    bool shown = false; /* a file that takes long to read */
    while (!problem && task_reader_next(reader, &example, &record, &problem)) {
        if (!shown && (shown = reader->read >= MANY_ROWS))
            progress_open("reading", "examples", 0);
        if (shown)
            progress_update((uint64_t)reader->read);
        use(context, &example, &record, &problem);
        task_example_clear(&example);
    }
    if (shown)
        progress_close();
    return problem == NULL || fail_with(error, problem);
}
