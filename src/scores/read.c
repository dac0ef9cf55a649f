/* read.c: examples from files of lines: predictions, references and groups, read side by side. */
#include "base/byte_stream.h"
#include "base/json_line.h"
#include "base/text.h"
#include "data/corpus/corpus.h"
#include "scores/scores.h"

#include <inttypes.h>
#include <string.h>

typedef struct Reading Reading;
/* Handles line i of a file, counted from 0. */
typedef bool (*LineFn)(Reading *reading, const char *line, size_t bytes, int64_t i, GError **error);

/* The state of reading one input. */
struct Reading {
    ScoreExamples *out;
    ScoreTakes takes;
    GPtrArray *found; /* texts (char *, owned by out->texts) of the current line */
    const char *path; /* the file that is being read */
    bool json;        /* its lines are JSON */
    LineFn take;
    int64_t n; /* its lines so far */
};

static bool is_json(const char *path)
{
    g_autofree char *stem = byte_stream_stem(path);
    return text_has_suffix(stem, ".jsonl");
}

/* ---- values ---- */

static void add_reading_text(Reading *reading, const char *text)
{
    g_ptr_array_add(reading->found, g_string_chunk_insert(reading->out->texts, text));
}

/* A string or a number as text; false for other values. */
static bool add_scalar(Reading *reading, const json_t *value)
{
    char digits[32];
    if (json_is_string(value)) {
        add_reading_text(reading, json_string_value(value));
    } else if (json_is_integer(value)) {
        g_snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        add_reading_text(reading, digits);
    } else if (json_is_real(value)) {
        g_autofree char *number = text_number(json_real_value(value));
        add_reading_text(reading, number);
    } else {
        return false;
    }
    return true;
}

static bool add_tags(Reading *reading, const json_t *array, GError **error)
{
    g_autoptr(GString) tags = g_string_new(NULL);
    const json_t *tag;
    size_t i;
    json_array_foreach(array, i, tag)
    {
        const char *text = json_string_value(tag);
        if (text == NULL || *text == '\0' || strpbrk(text, " \t\n\r\v\f"))
            return fail_user(error, "tag %zu is no text without white space", i + 1);
        g_string_append_printf(tags, "%s%s", i > 0 ? " " : "", text);
    }
    add_reading_text(reading, tags->str);
    return true;
}

/* Finds the texts of a value: none for null, one for a string, a number or an array of tags, several for an array of
 * references. */
static bool add_value(Reading *reading, const json_t *value, const char *name, GError **error)
{
    if (json_is_array(value) && reading->takes == SCORE_TAGS)
        return add_tags(reading, value, error) || fail_context(error, "%s", name);
    bool good = value != NULL;
    if (json_is_array(value)) {
        const json_t *element;
        size_t i;
        json_array_foreach(value, i, element) good = good && add_scalar(reading, element);
    } else if (good && !json_is_null(value)) {
        good = add_scalar(reading, value);
    }
    return good || fail_user(error, "%s is %s, want a text, a number, an array of them, or null", name,
                             value ? "something else" : "missing");
}

static json_t *parse_json(const char *line, size_t bytes, GError **error)
{
    json_error_t reason;
    json_t *value = json_loadb(line, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &reason);
    if (value == NULL)
        json_fail(&reason, error);
    return value;
}

/* ---- lines ---- */

/* Appends the one text of the current line, "" for null, to `to`. */
static bool take_one(Reading *reading, GPtrArray *to, const char *name, GError **error)
{
    if (reading->found->len > 1)
        return fail_user(error, "%u texts, want one %s", reading->found->len, name);
    if (reading->found->len == 0)
        add_reading_text(reading, "");
    g_ptr_array_add(to, reading->found->pdata[0]);
    return true;
}

static bool add_answer_line(Reading *reading, const char *line, size_t bytes, GError **error)
{
    if (!reading->json) {
        add_reading_text(reading, line);
        return true;
    }
    json_auto_t *value = parse_json(line, bytes, error);
    return value && add_value(reading, value, "the line", error);
}

static bool take_prediction(Reading *reading, const char *line, size_t bytes, G_GNUC_UNUSED int64_t i, GError **error)
{
    return add_answer_line(reading, line, bytes, error) &&
           take_one(reading, reading->out->predictions, "prediction", error);
}

static bool take_group(Reading *reading, const char *line, size_t bytes, G_GNUC_UNUSED int64_t i, GError **error)
{
    return add_answer_line(reading, line, bytes, error) && take_one(reading, reading->out->groups, "group", error);
}

/* Adds the texts of the current line to the references of example i. */
static void add_references(Reading *reading, int64_t i)
{
    GPtrArray *references = reading->out->references;
    if (i >= references->len)
        g_ptr_array_add(references, g_ptr_array_new());
    for (guint k = 0; k < reading->found->len; k++)
        g_ptr_array_add(references->pdata[i], reading->found->pdata[k]);
}

static bool take_reference(Reading *reading, const char *line, size_t bytes, int64_t i, GError **error)
{
    if (!add_answer_line(reading, line, bytes, error))
        return false;
    add_references(reading, i);
    return true;
}

/* The first of these names that the object has, or the last one. The list ends with NULL. */
static const char *first_of(const json_t *object, const char *const *names)
{
    while (names[1] && json_object_get(object, *names) == NULL)
        names++;
    return *names;
}

/* Names of the compared values, by preference: "graded" is what the task made of "prediction" (eval/task_scores.h). */
static const char *const predictions_of[] = { "graded", "prediction", NULL }, *const logprobs_of[] = { "logprob",
                                                                                                       NULL };
static const char *const references_of[] = { "graded_references", "references", "reference", NULL },
                         *const tokens_of[] = { "tokens", NULL };

/* Reads the texts of a named value. For SCORE_TAGS, an array of references with one text means that text. */
static bool take_named(Reading *reading, const json_t *object, const char *name, GError **error)
{
    const json_t *value = json_object_get(object, name);
    if (reading->takes == SCORE_TAGS && json_is_array(value) && json_array_size(value) == 1)
        value = json_array_get(value, 0);
    g_ptr_array_set_size(reading->found, 0);
    return add_value(reading, value, name, error);
}

/* Reads a line that is a whole example. A line of `loam eval --task` without references has no known right answer and
 * is left out. */
static bool take_object(Reading *reading, const char *line, size_t bytes, G_GNUC_UNUSED int64_t i, GError **error)
{
    const bool logprobs = reading->takes == SCORE_LOGPROBS;
    ScoreExamples *out = reading->out;
    json_auto_t *object = parse_json(line, bytes, error);
    if (object == NULL)
        return false;
    const char *prediction = first_of(object, logprobs ? logprobs_of : predictions_of),
               *reference = first_of(object, logprobs ? tokens_of : references_of);
    if (!json_is_object(object))
        return fail_user(error, "no object with \"%s\" and \"%s\"", prediction, reference);
    if (json_object_get(object, "scores") && json_object_get(object, reference) == NULL) {
        out->n_unknown++;
        return true;
    }
    if (!take_named(reading, object, prediction, error) || !take_one(reading, out->predictions, prediction, error) ||
        !take_named(reading, object, reference, error))
        return false;
    add_references(reading, out->predictions->len - 1);
    return json_object_get(object, "group") == NULL ||
           (take_named(reading, object, "group", error) && take_one(reading, out->groups, "group", error));
}

/* ---- files ---- */

static bool take_example_line(void *context, char *line, size_t bytes, GError **error)
{
    Reading *reading = context;
    const size_t mark = reading->n == 0 ? text_mark_bytes(line, bytes) : 0;
    g_ptr_array_set_size(reading->found, 0);
    reading->n++;
    return reading->take(reading, line + mark, bytes - mark, reading->n - 1, error) ||
           fail_context(error, "%s:%" PRId64, reading->path, reading->n);
}

static bool read_answers(Reading *reading, const char *path, LineFn take, GError **error)
{
    char *const paths[] = { (char *)path };
    reading->path = path;
    reading->json = is_json(path);
    reading->take = take;
    reading->n = 0;
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return fail_user(error, "%s is a folder; name a file", path);
    if (!corpus_each_line(paths, 1, NULL, take_example_line, reading, error))
        return false;
    int64_t n_predictions = reading->out->predictions->len + reading->out->n_unknown;
    return reading->n == n_predictions ||
           fail_user(error, "%s has %" PRId64 " lines, but there are %" PRId64 " predictions", path, reading->n,
                     n_predictions);
}

static bool read_files(Reading *reading, const ScoreFiles *files, GError **error)
{
    const ScoreExamples *out = reading->out;
    bool whole = files->references == NULL || *files->references == NULL;
    if (whole && !is_json(files->predictions))
        return fail_user(
            error, "%s needs a file of REFERENCES after it; only a .jsonl file that contains the references needs none",
            files->predictions);
    if (!read_answers(reading, files->predictions, whole ? take_object : take_prediction, error))
        return false;
    for (const char *const *path = files->references; !whole && *path; path++)
        if (!read_answers(reading, *path, take_reference, error))
            return false;
    if (files->groups && out->groups->len > 0)
        return fail_user(error, "%s has groups, and a file of groups is given too", files->predictions);
    if (files->groups && !read_answers(reading, files->groups, take_group, error))
        return false;
    return out->groups->len == 0 || out->groups->len == out->predictions->len ||
           fail_user(error, "%s: %u of %u lines have a \"group\"; all must, or none", files->predictions,
                     out->groups->len, out->predictions->len);
}

bool score_read(ScoreExamples *out, const ScoreFiles *files, ScoreTakes takes, GError **error)
{
    *out = (ScoreExamples){ .texts = g_string_chunk_new(1 << 16),
                            .predictions = g_ptr_array_new(),
                            .references = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref),
                            .groups = g_ptr_array_new() };
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    Reading reading = { .out = out, .takes = takes, .found = found };
    if (!read_files(&reading, files, error))
        return false;
    guint n = out->predictions->len;
    out->lists = g_new(const char *const *, n);
    for (guint i = 0; i < n; i++) {
        GPtrArray *references = out->references->pdata[i];
        g_ptr_array_add(references, NULL);
        out->lists[i] = (const char *const *)references->pdata;
    }
    out->in = (ScoreInput){ .n = n,
                            .predictions = (const char *const *)out->predictions->pdata,
                            .references = out->lists,
                            .groups = out->groups->len > 0 ? (const char *const *)out->groups->pdata : NULL };
    return true;
}

/* Parses only the first line. A line that is not JSON gives no settings; score_read later reports it as an error. */
static bool take_settings_line(void *context, char *line, size_t bytes, G_GNUC_UNUSED GError **error)
{
    json_t **settings = context;
    if (*settings)
        return true;
    const size_t mark = text_mark_bytes(line, bytes);
    json_auto_t *object = parse_json(line + mark, bytes - mark, NULL);
    const json_t *own = json_object_get(object, "scores");
    *settings = json_is_object(own) ? json_deep_copy(own) : json_object();
    return true;
}

bool score_read_settings(json_t **out, const char *path, GError **error)
{
    char *const paths[] = { (char *)path };
    *out = NULL;
    if (!is_json(path) || !g_file_test(path, G_FILE_TEST_IS_REGULAR))
        return true;
    if (!corpus_each_line(paths, 1, NULL, take_settings_line, out, error)) {
        json_decref(*out);
        *out = NULL;
        return false;
    }
    return true;
}

void score_examples_clear(ScoreExamples *examples)
{
    g_string_chunk_free(examples->texts);
    g_ptr_array_unref(examples->predictions);
    g_ptr_array_unref(examples->references);
    g_ptr_array_unref(examples->groups);
    g_free(examples->lists);
}
