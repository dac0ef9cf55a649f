/* label_check.c: checks that the labels of an example are classes of the classifier. */
#include "data/task/label_check.h"

#include "base/python_text.h"

#include <math.h>
#include <string.h>

/* Values that mean "no label" in files: Hugging Face's datasets have -1 for a text of a test set and -100 for a word
 * that has no tag. "<unk>" is example_label's name of both. */
static const char *const no_labels[] = { "<unk>", "-1", "-100", NULL };

bool label_is_none(const char *classes, const char *name)
{
    return g_strv_contains(no_labels, name) && (classes == NULL || labels_find(classes, name) < 0);
}

bool label_fail(const TaskConfig *config, const char *classes, const char *where, const char *name, GError **error)
{
    const char *from = config->labels_from;
    if (from == NULL)
        return fail_user(error, "%s: \"%s\" is none of the classes of model.labels (%s)", where, name, classes);
    return fail_user(error,
                     "%s: \"%s\" is none of the classes of model.labels (%s), which come from %s; model.labels=NAMES "
                     "gives others",
                     where, name, classes, from);
}

bool label_parse_value(const char *where, const char *text, float *value, GError **error)
{
    double number;
    const bool good = python_float(&number, text);
    *value = good ? (float)number : 0;
    return (good && isfinite(*value)) || fail_user(error, "%s: \"%s\" is not a number", where, text);
}

GStrv label_names(const Task *task, const TaskExample *example)
{
    char *const one[] = { example->targets->pdata[0], NULL };
    return task->learns == LABELS_TOKENS ? g_strsplit(one[0], " ", -1) : g_strdupv((char **)(uintptr_t)one);
}

/* Whether an example has no label: an empty list, or one of no_labels. In a task whose answers are free text, these are
 * texts like any other. */
static bool is_unlabelled(const Task *task, const char *classes, const TaskExample *example)
{
    if (example->targets->len == 0)
        return task->learns != LABELS_NONE;
    const bool labels = task->learns == LABELS_SEQUENCE || (task->learns == LABELS_NONE && task->labels != NULL);
    return labels && label_is_none(task->learns == LABELS_NONE ? task->labels : classes, example->targets->pdata[0]);
}

/* Takes the white space off the label of a sequence, and says whether that is a class: earlier versions kept it in the
 * names of classes, and the examples of their runs have it still. */
static bool strip_label(const Task *task, const char *classes, const TaskExample *example)
{
    return task->learns == LABELS_SEQUENCE && labels_find(classes, g_strstrip(example->targets->pdata[0])) >= 0;
}

bool task_check_example(const Task *task, const TaskConfig *config, const char *where, bool needs_target,
                        TaskExample *example, GError **error)
{
    const char *classes = config->classes;
    float value;
    if (task->learns == LABELS_SPAN || !example->known)
        return true;
    if (is_unlabelled(task, classes, example)) {
        example->known = false;
        g_ptr_array_set_size(example->targets, 0);
        return !needs_target || fail_user(error,
                                          "%s: it has no label: -1 and -100 mean none, unless task.labels or "
                                          "model.labels has them",
                                          where);
    }
    if (task->learns == LABELS_VALUE)
        return label_parse_value(where, example->targets->pdata[0], &value, error);
    if (!labels_have_names(task->learns))
        return true;
    g_auto(GStrv) names = label_names(task, example);
    for (char **name = names; *name; name++) {
        if (task->learns == LABELS_TOKENS && label_is_none(classes, *name))
            continue;
        if (classes && labels_find(classes, *name) < 0 && !strip_label(task, classes, example))
            return label_fail(config, classes, where, *name, error);
        if (**name == '\0')
            return fail_user(error, "%s: the label is empty", where);
    }
    return true;
}
