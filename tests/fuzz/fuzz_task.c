/* Any bytes as a file of labelled data: examples whose texts are UTF-8, or an error that says something. The first byte
 * chooses the task: of the table, or with the bit OWN_TASK of own_task. Its top bit says whether bad rows are skipped.
 */
#include "data/task/task.h"
#include "fuzz_folder.h"

#include <string.h>

#define OWN_TASK 0x40

/* Tasks of classifiers. */
static const Task classified[] = {
    { .learns = LABELS_SEQUENCE, .source = { .format = RECORD_CSV }, .input = "{1}", .second = "{2}", .target = "{3}" },
    { .learns = LABELS_TOKENS, .source = { .format = RECORD_CONLL }, .input = "{1}", .tags = "2" },
    { .learns = LABELS_TOKENS, .source = { .format = RECORD_JSONL }, .input = "{w}", .tags = "t", .labels = "O,B" },
    { .learns = LABELS_SPAN, .source = { .format = RECORD_JSONL }, .input = "{q}", .second = "{c}", .answers = "a" },
    { .learns = LABELS_CHOICE,
      .source = { .format = RECORD_JSONL },
      .input = "{q}",
      .choices = "a,b",
      .target = "{l}" },
};

/* One of `classified`, then one for each format. */
static Task own_task(size_t which)
{
    which %= G_N_ELEMENTS(classified) + g_strv_length((char **)record_format_names);
    Task task = { .input = "{{{1}}} {2.x}", .target = "{2}", .labels = "no,yes", .id = "{3}" };
    if (which < G_N_ELEMENTS(classified))
        task = classified[which];
    else
        task.source.format = (RecordFormat)(which - G_N_ELEMENTS(classified));
    task.source.rows = task.source.columns = "";
    task.source.header = RECORD_NO;
    return task;
}

static Task choose_task(uint8_t byte)
{
    size_t n = 0, which = byte & (OWN_TASK - 1);
    while (task_at(n))
        n++;
    CHECK(n <= OWN_TASK, "%zu tasks", n);
    return byte & OWN_TASK ? own_task(which) : *task_at(which % n);
}

static void check_text(const char *text)
{
    CHECK(text == NULL || g_utf8_validate(text, -1, NULL), "not UTF-8");
}

static void check_example(const Task *task, const TaskExample *example)
{
    g_autoptr(GPtrArray) references = g_ptr_array_new_with_free_func(g_free);
    char *prediction = g_strdup("a text . said");
    check_text(example->input);
    check_text(example->id);
    check_text(example->second);
    for (guint i = 0; example->words && i < example->words->len; i++)
        check_text(example->words->pdata[i]);
    for (guint i = 0; example->choices && i < example->choices->len; i++)
        check_text(example->choices->pdata[i]);
    for (guint i = 0; example->starts && i < example->starts->len; i++)
        CHECK(
            g_str_has_prefix(example->second + g_array_index(example->starts, int64_t, i), example->targets->pdata[i]),
            "an answer that is not where it is said to be");
    check_text(example->group);
    for (guint i = 0; i < example->targets->len; i++) {
        check_text(example->targets->pdata[i]);
        g_ptr_array_add(references, g_strdup(example->targets->pdata[i]));
    }
    if (task->grade && example->known)
        task->grade(example, &prediction, references);
    g_free(prediction);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 1)
        return 0;
    Task task = choose_task(data[0]);
    /* RECORD_AUTO reads what the name says. */
    g_autofree char *name = g_strconcat("task.", record_format_names[MAX(task.source.format, RECORD_TSV)], NULL);
    g_autofree char *path = g_build_filename(fuzz_folder(), name, NULL);
    fuzz_keep(name, data + 1, bytes - 1);
    if (task.lookup)
        fuzz_keep(task.lookup, data + 1, bytes - 1);
    char none[] = "";
    const TaskConfig config = {
        .on_error = data[0] & 0x80 ? TASK_SKIP : TASK_STOP, .value = none, .label = none, .target = none
    };
    const TaskFile file = { .path = path };
    g_autoptr(GError) error = NULL;
    TaskExample example;
    Record record;
    TaskReader *reader = task_reader_open(&task, &config, &file, false, &error);
    while (reader && task_reader_next(reader, &example, &record, &error)) {
        check_example(&task, &example);
        task_example_clear(&example);
    }
    CHECK(error == NULL || *error->message, "no word about what is wrong");
    task_reader_close(reader);
    return 0;
}
