/* example.c: makes the texts of an example: fills templates, converts labels, cleans fields. */
#include "base/text.h"
#include "data/labels.h"
#include "data/task/special.h"

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
    GError *problem = NULL;
    *missing = !record_texts(record, name, texts, &problem);
    if (problem) {
        g_propagate_error(error, problem);
        return false;
    }
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

bool example_fill(const Task *task, const Record *record, const char *template, char **out, bool *missing,
                  GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *absent = NULL;
    *out = NULL;
    if (!fill_template(task, record, template, text, &absent, error))
        return false;
    *missing = absent != NULL;
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

char *example_label(const Task *task, const char *value)
{
    if (task->label)
        return task->label(value);
    if (task->labels == NULL)
        return g_strdup(value);
    g_auto(GStrv) names = text_list(task->labels);
    if (g_strv_contains((const char *const *)names, value))
        return g_strdup(value);
    char *end;
    gint64 index = g_ascii_strtoll(value, &end, 10);
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        index = *value == 't';
    else if (*value == '\0' || *end)
        return NULL;
    if (index == -1 || index == -100)
        return g_strdup("<unk>");
    return index >= 0 && index < g_strv_length(names) ? g_strdup(names[index]) : NULL;
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

char *task_label_text(const Task *task, const char *name)
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
        *text = task_label_text(task, name);
    }
    return texts;
}

static bool add_target(const Task *task, const Record *record, const char *value, TaskExample *out, GError **error)
{
    g_autofree char *label = example_label(task, value);
    if (label) {
        const bool none = task->labels && label_is_none(task->labels, label);
        g_ptr_array_add(out->targets, none ? g_steal_pointer(&label) : task_label_text(task, label));
        return true;
    }
    g_autofree char *field = value_field(task);
    const char *name = field ? field : "target";
    if (task->label)
        return fail_user(error, "%s: %s: \"%s\" is not a number", record->where, name, value);
    return fail_user(error, "%s: %s: \"%s\" is none of the labels %s", record->where, name, value, task->labels);
}

/* Sets the right answers from the field that task.references names. */
static bool take_references(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    GError *problem = NULL;
    out->known = record_texts(record, task->references, texts, &problem);
    if (problem) {
        g_propagate_error(error, problem);
        return false;
    }
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
        record_texts(record, fields->pdata[i], texts, NULL);
    for (guint i = 0; i < texts->len; i++)
        if (((char *)texts->pdata[i])[strspn(texts->pdata[i], " \t\r\n")])
            return false;
    return texts->len > 0;
}

bool example_take_targets(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    bool taken = false, missing = true;
    if (task->target) {
        g_autofree char *text = NULL, *field = value_field(task), *only = g_strdup_printf("{%s}", field);
        if (!take_list(task, record, field, out, &taken, error))
            return false;
        if (taken)
            return true;
        if (!example_fill(task, record, field ? only : task->target, &text, &missing, error))
            return false;
        out->known = text && !example_is_blank(record, task->target);
        if (out->known && !add_target(task, record, text, out, error))
            return false;
    }
    return task->references == NULL || (task->target && !out->known) || take_references(task, record, out, error);
}
