/* example.c: makes the texts of an example: fills templates, converts labels, cleans fields; and checks that its labels
 * are classes of the classifier. */
#include "base/python_text.h"
#include "base/text.h"
#include "data/task/special.h"

#include <math.h>
#include <string.h>

/* ---- texts of fields ---- */

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r';
}

/* A copy in which each run of white space is one space. */
static char *collapse(const char *text)
{
    GString *out = g_string_sized_new(strlen(text));
    for (const char *at = text; *at; at++)
        if (!is_space(*at))
            g_string_append_c(out, *at);
        else if (out->len == 0 || out->str[out->len - 1] != ' ')
            g_string_append_c(out, ' ');
    return g_string_free(out, false);
}

/* A copy with a space before and after every ASCII punctuation character. */
static char *pad_punctuation(const char *text)
{
    g_autoptr(GString) out = g_string_sized_new(2 * strlen(text));
    for (const char *at = text; *at; at++)
        if (g_ascii_ispunct(*at))
            g_string_append_printf(out, " %c ", *at);
        else
            g_string_append_c(out, *at);
    return collapse(out->str);
}

/* Cleans the text of a field as the task says. Takes ownership of `text`. */
static char *clean(const Task *task, const char *field, char *text)
{
    if (task->clean)
        text = task->clean(field, text);
    if (!task->pad_punctuation)
        return text;
    g_autofree char *plain = text;
    return pad_punctuation(plain);
}

/* ---- templates ---- */

/* The end of the field name that starts at `begin`, after "{"; NULL means that the closing brace is missing. */
static const char *field_end(const char *begin)
{
    const char *end = strpbrk(begin, "{}");
    return end && *end == '}' && end > begin ? end : NULL;
}

bool task_template_fields(const char *template, GPtrArray *fields, GError **error)
{
    for (const char *at = template; *at; at++) {
        if ((*at == '{' || *at == '}') && at[1] == *at) {
            at++;
            continue;
        }
        if (*at == '}' || (*at == '{' && field_end(at + 1) == NULL))
            return fail_user(error, "\"%s\": a field is written {name}, a brace itself {{ or }}", template);
        if (*at != '{')
            continue;
        const char *end = field_end(at + 1);
        g_autofree char *name = g_strndup(at + 1, (gsize)(end - at - 1));
        if (!g_ptr_array_find_with_equal_func(fields, name, g_str_equal, NULL))
            g_ptr_array_add(fields, g_steal_pointer(&name));
        at = end;
    }
    return true;
}

/* Appends a field; the texts of a list are separated by commas. */
static bool append_field(const Task *task, const Record *record, const char *name, GString *out, bool *missing,
                         GError **error)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    bool found;
    if (!record_texts(record, name, texts, &found, error))
        return false;
    *missing = !found;
    for (guint i = 0; i < texts->len; i++) {
        g_autofree char *text = clean(task, name, g_strdup(texts->pdata[i]));
        g_string_append_printf(out, "%s%s", i > 0 ? ", " : "", text);
    }
    return true;
}

/* Fills a template. *absent becomes the name of the first field that the record lacks, or NULL; g_free. */
static bool fill_template(const Task *task, const Record *record, const char *template, GString *out, char **absent,
                          GError **error)
{
    *absent = NULL;
    for (const char *at = template; *at; at++) {
        const char *end = *at == '{' && at[1] != '{' ? field_end(at + 1) : NULL;
        bool missing = false;
        if (end == NULL) {
            g_string_append_c(out, *at);
            at += (*at == '{' || *at == '}') && at[1] == *at;
            continue;
        }
        g_autofree char *name = g_strndup(at + 1, (gsize)(end - at - 1));
        if (!append_field(task, record, name, out, &missing, error))
            return false;
        if (missing) {
            *absent = g_steal_pointer(&name);
            return true;
        }
        at = end;
    }
    return true;
}

bool example_fill(const Task *task, const Record *record, const char *template, char **out, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *absent = NULL;
    *out = NULL;
    if (!fill_template(task, record, template, text, &absent, error))
        return false;
    if (!absent)
        *out = task->pad_punctuation ? collapse(text->str) : g_strdup(text->str);
    return true;
}

bool example_take_input(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *absent = NULL;
    if (!fill_template(task, record, task->input, text, &absent, error))
        return false;
    if (absent)
        return record_fail_missing(record, absent, error);
    out->input = task->pad_punctuation ? collapse(text->str) : g_strdup(text->str);
    return true;
}

/* ---- targets ---- */

/* The index of a label among n that a text is the number of; -1 means none: "01" is another label than "1". */
static int64_t label_index(const char *text, guint n)
{
    const gint64 index = g_ascii_strtoll(text, NULL, 10);
    g_autofree char *plain = g_strdup_printf("%" G_GINT64_FORMAT, index);
    return index < n && strcmp(text, plain) == 0 ? MAX(index, -1) : -1;
}

/* Whether a name is the number of another one, as in "1,2,3": a value is then a name only, since two classes would
 * become one if 1 were a name and 0 the number of the same name. */
static bool is_renumbered(char **names)
{
    const guint n = g_strv_length(names);
    bool found = false;
    for (guint i = 0; !found && i < n; i++) {
        const int64_t index = label_index(names[i], n);
        found = index >= 0 && index != i;
    }
    return found;
}

char *example_label(const Task *task, const char *value)
{
    if (task->label)
        return task->label(value);
    if (task->labels == NULL)
        return g_strdup(value);
    g_auto(GStrv) names = text_list(task->labels);
    if (g_strv_contains((const char *const *)names, value))
        return g_strdup(value);
    if (strcmp(value, "-1") == 0 || strcmp(value, "-100") == 0)
        return g_strdup("<unk>");
    const bool truth = strcmp(value, "true") == 0;
    const int64_t index = truth || strcmp(value, "false") == 0 ? truth : label_index(value, g_strv_length(names));
    return index >= 0 && index < g_strv_length(names) && !is_renumbered(names) ? g_strdup(names[index]) : NULL;
}

bool example_fail_label(const Task *task, const Record *record, const char *field, const char *value, GError **error)
{
    g_auto(GStrv) names = text_list(task->labels);
    return fail_user(error, "%s: %s: \"%s\" is none of the labels %s%s", record->where, field, value, task->labels,
                     is_renumbered(names) ? ": as some are numbers of others (from 0), every value must be a name, and "
                                            "task.labels must name the values that the file has"
                                          : "");
}

/* The field's name if a template is only "{FIELD}"; NULL for other templates. */
static char *only_field(const char *template)
{
    const char *end = template && *template == '{' ? field_end(template + 1) : NULL;
    return end && end[1] == '\0' ? g_strndup(template + 1, (gsize)(end - template - 1)) : NULL;
}

/* The field whose value is named before it is put into the target's template: the only one of the template, of a task
 * with labels. NULL means that the whole target is the label, or that there are no labels. */
static char *label_field(const Task *task)
{
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
    const bool named = task->target && (task->labels || task->label);
    return named && task_template_fields(task->target, fields, NULL) && fields->len == 1 ? g_strdup(fields->pdata[0])
                                                                                         : NULL;
}

/* The field whose text is the target, or its label; NULL means that the whole template is. */
static char *value_field(const Task *task)
{
    char *field = label_field(task);
    return field ? field : only_field(task->target);
}

/* The target of an example whose label has this name: the name in place of the field of task->target, or for a
 * classifier, and if the template has not exactly one field, the name itself. g_free. */
static char *label_text(const Task *task, const char *name)
{
    g_autofree char *field = task->learns ? NULL : label_field(task);
    GString *text = g_string_new(NULL);
    for (const char *at = field ? task->target : ""; *at; at++) {
        if ((*at == '{' || *at == '}') && at[1] == *at) {
            g_string_append_c(text, *at++);
        } else if (*at == '{') {
            g_string_append(text, name);
            at = field_end(at + 1);
        } else {
            g_string_append_c(text, *at);
        }
    }
    return g_string_free(field ? text : g_string_append(text, name), false);
}

char **task_label_texts(const Task *task)
{
    char **texts = text_list(task->labels);
    for (char **text = texts; *text; text++) {
        g_autofree char *name = *text;
        *text = label_text(task, name);
    }
    return texts;
}

static bool add_target(const Task *task, const Record *record, const char *value, TaskExample *out, GError **error)
{
    g_autofree char *label = example_label(task, value);
    if (label) {
        const bool none = task->labels && label_is_none(task->labels, label);
        g_ptr_array_add(out->targets, none ? g_steal_pointer(&label) : label_text(task, label));
        return true;
    }
    g_autofree char *field = value_field(task);
    const char *name = field ? field : "target";
    if (task->label)
        return fail_user(error, "%s: %s: \"%s\" is not a number", record->where, name, value);
    return example_fail_label(task, record, name, value, error);
}

/* Sets the right answers from the field that task.references names. */
static bool take_references(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    if (!record_texts(record, task->references, texts, &out->known, error))
        return false;
    for (guint i = 0; i < texts->len; i++) {
        g_autofree char *text = clean(task, task->references, g_strdup(texts->pdata[i]));
        bool again = g_ptr_array_find_with_equal_func(out->targets, text, g_str_equal, NULL);
        if (!again && !add_target(task, record, text, out, error))
            return false;
    }
    return true;
}

/* If the target template is a single field that is a list, each text of the list is a right answer. */
static bool take_list(const Task *task, const Record *record, const char *name, TaskExample *out, bool *taken,
                      GError **error)
{
    *taken = name && json_is_array(record_value(record, name));
    if (!*taken)
        return true;
    Task listed = *task;
    listed.references = name;
    return take_references(&listed, record, out, error);
}

bool example_is_blank(const Record *record, const char *template)
{
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free),
                         texts = g_ptr_array_new_with_free_func(g_free);
    task_template_fields(template, fields, NULL);
    for (guint i = 0; i < fields->len; i++)
        record_texts(record, fields->pdata[i], texts, &(bool){ false }, NULL);
    for (guint i = 0; i < texts->len; i++)
        if (((char *)texts->pdata[i])[strspn(texts->pdata[i], " \t\r\n")])
            return false;
    return texts->len > 0;
}

bool example_take_targets(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    bool taken = false;
    if (task->target) {
        g_autofree char *text = NULL, *field = value_field(task), *only = g_strdup_printf("{%s}", field);
        if (!take_list(task, record, field, out, &taken, error))
            return false;
        if (taken)
            return true;
        if (!example_fill(task, record, field ? only : task->target, &text, error))
            return false;
        out->known = text && !example_is_blank(record, task->target);
        if (out->known && !add_target(task, record, text, out, error))
            return false;
    }
    return task->references == NULL || (task->target && !out->known) || take_references(task, record, out, error);
}

/* ---- labels of classifiers ---- */

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

/* Whether an example has no label: an empty list, or one of no_labels. In free-text answers, these are plain texts. */
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
