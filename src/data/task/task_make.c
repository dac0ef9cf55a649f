/* task_make.c: a record becomes an example: its texts and, for classifiers, second text, words and tags, answers and
 * their positions in the text, choices, and the right label. */
#include "base/text.h"
#include "data/task/special.h"

#include <string.h>

static GPtrArray *texts_new(void)
{
    return g_ptr_array_new_with_free_func(g_free);
}

static bool take_second(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    g_autoptr(GPtrArray) fields = texts_new();
    if (!example_fill(task, record, task->second, &out->second, error))
        return false;
    task_template_fields(task->second, fields, NULL);
    return out->second || record_fail_missing_of(record, fields, error);
}

/* ---- words and their tags ---- */

/* Splits a field that is a single text into words at spaces. */
static void split_words(const Record *record, const char *name, GPtrArray *texts)
{
    if (texts->len != 1 || json_is_array(record_value(record, name)))
        return;
    g_auto(GStrv) words = g_strsplit_set(texts->pdata[0], " \t", -1);
    g_ptr_array_set_size(texts, 0);
    for (char **word = words; *word; word++)
        if (**word)
            g_ptr_array_add(texts, g_strdup(*word));
}

static char *join_texts(GPtrArray *texts)
{
    GString *all = g_string_new(NULL);
    for (guint i = 0; i < texts->len; i++)
        g_string_append_printf(all, "%s%s", i ? " " : "", (const char *)texts->pdata[i]);
    return g_string_free(all, false);
}

static bool take_tags(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    g_autoptr(GPtrArray) fields = texts_new(), tags = texts_new();
    bool found;
    out->words = texts_new();
    if (!task_template_fields(task->input, fields, error))
        return false;
    if (fields->len != 1)
        return fail_user(error, "task.input: \"%s\" is not one field with a list of words, such as \"{tokens}\"",
                         task->input);
    if (!record_texts(record, fields->pdata[0], out->words, &found, error))
        return false;
    if (!found)
        return record_fail_missing(record, fields->pdata[0], error);
    split_words(record, fields->pdata[0], out->words);
    g_free(out->input);
    out->input = join_texts(out->words);
    if (!record_texts(record, task->tags, tags, &out->known, error))
        return false;
    split_words(record, task->tags, tags);
    if (out->known && tags->len != out->words->len)
        return fail_user(error, "%s: %u words and %u tags", record->where, out->words->len, tags->len);
    for (guint i = 0; i < tags->len; i++) {
        char *name = example_label(task, tags->pdata[i]);
        if (name == NULL)
            return example_fail_label(task, record, task->tags, tags->pdata[i], error);
        g_free(tags->pdata[i]);
        tags->pdata[i] = name;
        if (*name == '\0' || strpbrk(name, " \t\n"))
            return fail_user(error, "%s: %s: \"%s\" is not one word, as a tag has to be", record->where, task->tags,
                             name);
    }
    if (out->known)
        g_ptr_array_add(out->targets, join_texts(tags));
    return true;
}

/* ---- answers in a text ---- */

/* Adds an answer. start: index of its first character in the context, counted in characters. */
static bool add_answer(const Record *record, const json_t *text, const json_t *start, TaskExample *out, GError **error)
{
    const char *answer = json_string_value(text);
    json_int_t characters = json_integer_value(start);
    if (answer == NULL || !json_is_integer(start))
        return fail_user(error, "%s: an answer is no text with its answer_start", record->where);
    glong length = g_utf8_strlen(out->second, -1);
    const char *at =
        characters >= 0 && characters <= length ? g_utf8_offset_to_pointer(out->second, (glong)characters) : NULL;
    if (at == NULL || !g_str_has_prefix(at, answer))
        return fail_user(error, "%s: the answer \"%s\" does not stand at character %lld of the text", record->where,
                         answer, (long long)characters);
    const int64_t byte = at - out->second;
    g_ptr_array_add(out->targets, g_strdup(answer));
    g_array_append_val(out->starts, byte);
    return true;
}

/* [{ "text", "answer_start" }, …], as in SQuAD's files, or { "text": […], "answer_start": […] }, as in its Hugging Face
 * form. A missing field means that the answer is unknown; an empty list means that there is no answer. */
static bool take_answers(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    const json_t *answers = record_value(record, task->answers);
    out->starts = g_array_new(false, false, sizeof(int64_t));
    out->known = answers != NULL && !json_is_null(answers);
    const json_t *texts = json_object_get(answers, "text"), *starts = json_object_get(answers, "answer_start");
    if (out->known && !json_is_array(answers) && !(json_is_array(texts) && json_is_array(starts)))
        return fail_user(error, "%s: %s is no list of answers with text and answer_start", record->where,
                         task->answers);
    if (texts && json_array_size(texts) != json_array_size(starts))
        return fail_user(error, "%s: %s: as many texts as answer_starts are wanted", record->where, task->answers);
    for (size_t i = 0; i < json_array_size(answers); i++) {
        const json_t *one = json_array_get(answers, i);
        if (!add_answer(record, json_object_get(one, "text"), json_object_get(one, "answer_start"), out, error))
            return false;
    }
    for (size_t i = 0; i < json_array_size(texts); i++)
        if (!add_answer(record, json_array_get(texts, i), json_array_get(starts, i), out, error))
            return false;
    return true;
}

/* ---- choices ---- */

/* Sets the target to the number of the right choice, which the record gives as a number or as its field's name. */
static bool take_number(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    if (out->targets->len == 0)
        return true;
    char *given = out->targets->pdata[0], *end;
    const int64_t named = labels_find(task->choices, given);
    gint64 number = g_ascii_strtoll(given, &end, 10);
    const bool counted = end != given && *end == '\0';
    if (counted && named >= 0 && named != number)
        return fail_user(error,
                         "%s: the label \"%s\" is the number of one choice, from 0, and the name of another: "
                         "task.columns gives the columns of choices names that are no numbers",
                         record->where, given);
    number = named >= 0 ? named : number;
    if (!(counted || named >= 0) || number < 0 || number >= out->choices->len)
        return fail_user(error, "%s: the label \"%s\" names none of the %u choices, want 0 to %u", record->where, given,
                         out->choices->len, out->choices->len - 1);
    out->targets->pdata[0] = g_strdup_printf("%" G_GINT64_FORMAT, number);
    g_free(given);
    return true;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* Leaves out empty choices at the end, those of a table that has columns for more; any other has to have a text. */
static bool drop_blank_choices(const Record *record, GPtrArray *choices, GError **error)
{
    while (choices->len > 0 && is_blank(choices->pdata[choices->len - 1]))
        g_ptr_array_set_size(choices, (gint)choices->len - 1);
    for (guint i = 0; i < choices->len; i++)
        if (is_blank(choices->pdata[i]))
            return fail_user(error, "%s: choice %u (from 0) is empty, and there are choices after it", record->where,
                             i);
    return true;
}

static bool take_choices(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    g_auto(GStrv) fields = text_list(task->choices);
    out->choices = texts_new();
    for (char **field = fields; *field; field++) {
        bool found;
        if (!record_texts(record, *field, out->choices, &found, error))
            return false;
        if (!found)
            return record_fail_missing(record, *field, error);
    }
    if (!drop_blank_choices(record, out->choices, error))
        return false;
    if (out->choices->len < 2 || out->choices->len > LABELS_MAX_CHOICES)
        return fail_user(error, "%s: %u choices, want 2 to %d", record->where, out->choices->len, LABELS_MAX_CHOICES);
    return example_take_targets(task, record, out, error) && take_number(task, record, out, error);
}

/* Takes the one label, or value, of a text. */
static bool take_label(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    if (!example_take_targets(task, record, out, error))
        return false;
    return out->targets->len < 2 ||
           fail_user(error, "%s: %u labels (\"%s\", \"%s\"%s) in %s: a classifier gives a text one label",
                     record->where, out->targets->len, (const char *)out->targets->pdata[0],
                     (const char *)out->targets->pdata[1], out->targets->len > 2 ? ", …" : "", task->target);
}

/* Sets the fields that only classifiers use; out->input is already set. */
static bool take_classified(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    if (task->second && !take_second(task, record, out, error))
        return false;
    switch (task->learns) {
    case LABELS_TOKENS:
        return take_tags(task, record, out, error);
    case LABELS_SPAN:
        return take_answers(task, record, out, error);
    case LABELS_CHOICE:
        return take_choices(task, record, out, error);
    default:
        return take_label(task, record, out, error);
    }
}

/* ---- the example ---- */

static bool make_plain(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    return example_take_input(task, record, out, error) &&
           (task->learns ? take_classified(task, record, out, error)
                         : example_take_targets(task, record, out, error)) &&
           (!task->id || example_fill(task, record, task->id, &out->id, error)) &&
           (!task->group || example_fill(task, record, task->group, &out->group, error));
}

void task_example_clear(TaskExample *example)
{
    g_clear_pointer(&example->targets, g_ptr_array_unref);
    g_clear_pointer(&example->input, g_free);
    g_clear_pointer(&example->group, g_free);
    g_clear_pointer(&example->id, g_free);
    g_clear_pointer(&example->answer, g_free);
    g_clear_pointer(&example->second, g_free);
    g_clear_pointer(&example->choices, g_ptr_array_unref);
    g_clear_pointer(&example->words, g_ptr_array_unref);
    g_clear_pointer(&example->starts, g_array_unref);
}

void task_example_free(void *example)
{
    task_example_clear(example);
    g_free(example);
}

/* Sets the error that the record lacks the field with the right answer; returns false. */
static bool fail_unknown_answer(const Task *task, const Record *record, GError **error)
{
    g_autoptr(GPtrArray) fields = texts_new();
    const char *field = task->learns == LABELS_TOKENS ? task->tags
                        : task->learns == LABELS_SPAN ? task->answers
                                                      : task->references;
    if (task->target && example_is_blank(record, task->target))
        return fail_user(error, "%s: the target is empty", record->where);
    if (task->target)
        task_template_fields(task->target, fields, NULL);
    if (field)
        g_ptr_array_add(fields, g_strdup(field));
    return record_fail_missing_of(record, fields, error);
}

bool task_make(const Task *task, const Record *record, bool needs_target, TaskExample *out, GError **error)
{
    *out = (TaskExample){ .targets = texts_new() };
    bool good = task->make ? task->make(task, record, out, error) : make_plain(task, record, out, error);
    if (good && !record->short_name && is_blank(out->input))
        good = fail_user(error, "%s: the input is empty", record->where);
    if (good && needs_target && !out->known)
        good = fail_unknown_answer(task, record, error);
    if (!good)
        task_example_clear(out);
    return good;
}
