/* Any bytes as predictions for a leaderboard: refused, or a file of its form that holds each prediction. The first byte
 * chooses the task. */
#include "cli/task/submission.h"
#include "data/task/task.h"
#include "fuzz_folder.h"

#include <jansson.h>
#include <string.h>

/* A table of a heading and a line each, or lines of JSON. */
static void check_text(const SubmissionText *made, bool table)
{
    int64_t lines = 0;
    for (const char *at = made->text->str, *end; *at; at = end + 1, lines++) {
        end = strchr(at, '\n');
        CHECK(end, "a line without end");
        json_t *line = table ? NULL : json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);
        CHECK(table || json_is_object(line), "line %d is no object", (int)lines);
        CHECK(!table || memchr(at, '\t', (size_t)(end - at)), "line %d has no tab", (int)lines);
        json_decref(line);
    }
    CHECK(table ? lines == made->n + 1 : lines >= 1 && lines <= made->n, "%d lines of %d predictions", (int)lines,
          (int)made->n);
    CHECK(made->n > 0 && made->unknown >= 0 && made->unknown <= made->n, "%d of %d", (int)made->unknown, (int)made->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static GPtrArray *forms;
    const Task *task;
    if (forms == NULL) {
        forms = g_ptr_array_new();
        for (size_t i = 0; (task = task_at(i)); i++)
            if (submission_find(task->name))
                g_ptr_array_add(forms, (gpointer)(uintptr_t)submission_find(task->name));
    }
    if (bytes == 0)
        return 0;
    const Submission *form = forms->pdata[data[0] % forms->len];
    SubmissionText made;
    g_autoptr(GError) error = NULL;
    fuzz_put("predictions", data + 1, bytes - 1);
    g_autofree char *path = g_build_filename(fuzz_folder(), "predictions", NULL);
    const bool good = submission_read(form, path, &made, &error);
    CHECK(good == (error == NULL), "an error without words, or words without an error");
    if (good)
        check_text(&made, g_str_has_suffix(submission_file(form), ".tsv"));
    submission_text_clear(&made);
    return 0;
}
