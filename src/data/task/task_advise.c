/* task_advise.c: warns about options task.* that have no effect with the task's files or scores, and about
 * templates without a field. */
#include "base/log.h"
#include "base/text.h"
#include "data/task/task.h"

#include <string.h>

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

/* Says that a table's first line was taken for names, of which the templates use none. A pipe, which can be read only
 * once, is not looked at. */
static void advise_header(const Task *task, const char *path)
{
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
    const char *const templates[] = { task->input, task->target, task->second };
    RecordSource source = task->source;
    Record record;
    bool named = source.header != RECORD_BY_FORMAT || (source.columns && *source.columns) ||
                 !g_file_test(path, G_FILE_TEST_IS_REGULAR);
    source.path = path;
    for (size_t i = 0; i < G_N_ELEMENTS(templates); i++)
        if (templates[i])
            task_template_fields(templates[i], fields, NULL);
    for (guint i = 0; i < fields->len; i++)
        named |= !g_ascii_isdigit(*(char *)fields->pdata[i]);
    RecordReader *reader = named || fields->len == 0 ? NULL : record_reader_open(&source, NULL);
    if (reader && record_traits(record_reader_format(reader))->delimiter && record_reader_next(reader, &record, NULL))
        log_warning("%s: the first line is taken for the names of the columns (%s); task.header=false if it is data",
                    path, record.columns);
    record_reader_close(reader);
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

void task_advise(const Task *task, const TaskConfig *config, const char *path)
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
    advise_header(task, path);
}
