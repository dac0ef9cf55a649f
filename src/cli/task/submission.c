#include "cli/task/submission.h"

#include "base/file.h"
#include "base/json_line.h"
#include "base/python_text.h"
#include "base/text.h"
#include "data/labels.h"
#include "data/task/task.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Formats of files for leaderboards. GLUE: a table with the columns index and prediction. SuperGLUE: JSON lines with
 * idx and label, nested for MultiRC. Others: one JSON object that maps ids to texts. */
typedef enum Form { FORM_TABLE, FORM_LINES, FORM_NESTED, FORM_OBJECT } Form;
/* How a label is written: by its name, by its number in the task's list, in lower case, as a number from 0 to 5, or as
 * the text that was predicted. */
typedef enum Spelling { BY_NAME, BY_NUMBER, IN_LOWER_CASE, AS_SCORE, AS_TEXT } Spelling;

struct Submission {
    const char *task, *file;
    Form form;
    Spelling spelling;
};
static const Submission submissions[] = {
    { "cola", "CoLA.tsv", FORM_TABLE, BY_NUMBER },
    { "sst2", "SST-2.tsv", FORM_TABLE, BY_NUMBER },
    { "mrpc", "MRPC.tsv", FORM_TABLE, BY_NUMBER },
    { "qqp", "QQP.tsv", FORM_TABLE, BY_NUMBER },
    { "stsb", "STS-B.tsv", FORM_TABLE, AS_SCORE },
    { "mnli", "MNLI-m.tsv", FORM_TABLE, BY_NAME },
    { "mnli_mismatched", "MNLI-mm.tsv", FORM_TABLE, BY_NAME },
    { "qnli", "QNLI.tsv", FORM_TABLE, BY_NAME },
    { "rte", "RTE.tsv", FORM_TABLE, BY_NAME },
    { "wnli", "WNLI.tsv", FORM_TABLE, BY_NUMBER },
    { "ax", "AX.tsv", FORM_TABLE, BY_NAME },
    { "boolq", "BoolQ.jsonl", FORM_LINES, IN_LOWER_CASE },
    { "cb", "CB.jsonl", FORM_LINES, BY_NAME },
    { "copa", "COPA.jsonl", FORM_LINES, BY_NUMBER },
    { "multirc", "MultiRC.jsonl", FORM_NESTED, BY_NUMBER },
    { "record", "ReCoRD.jsonl", FORM_LINES, AS_TEXT },
    { "superglue_rte", "RTE.jsonl", FORM_LINES, BY_NAME },
    { "wic", "WiC.jsonl", FORM_LINES, IN_LOWER_CASE },
    { "wsc", "WSC.jsonl", FORM_LINES, BY_NAME },
    { "axb", "AX-b.jsonl", FORM_LINES, BY_NAME },
    { "axg", "AX-g.jsonl", FORM_LINES, BY_NAME },
    { "squad", "squad.json", FORM_OBJECT, AS_TEXT },
    { "squad2", "squad2.json", FORM_OBJECT, AS_TEXT },
    { "gov_report", "gov_report.json", FORM_OBJECT, AS_TEXT },
    { "summ_screen_fd", "summ_screen_fd.json", FORM_OBJECT, AS_TEXT },
    { "qmsum", "qmsum.json", FORM_OBJECT, AS_TEXT },
    { "narrative_qa", "narrative_qa.json", FORM_OBJECT, AS_TEXT },
    { "qasper", "qasper.json", FORM_OBJECT, AS_TEXT },
    { "quality", "quality.json", FORM_OBJECT, AS_TEXT },
    { "contract_nli", "contract_nli.json", FORM_OBJECT, AS_TEXT },
};

typedef struct Writer {
    const Submission *form;
    const Task *task;
    json_t *object; /* FORM_OBJECT: maps ids to texts; FORM_NESTED: the JSON line of the current passage, or NULL */
    SubmissionText *out;
} Writer;

const Submission *submission_find(const char *task)
{
    for (size_t i = 0; i < G_N_ELEMENTS(submissions); i++)
        if (strcmp(submissions[i].task, task) == 0)
            return &submissions[i];
    return NULL;
}

const char *submission_file(const Submission *form)
{
    return form->file;
}

/* ---- labels ---- */

/* The number of the label; a prediction that is not a label counts as the first label. */
static int64_t label_of(Writer *w, const char *prediction)
{
    g_auto(GStrv) targets = task_label_texts(w->task);
    int64_t label = 0;
    while (targets[label] && strcmp(g_strchug(targets[label]), prediction) != 0)
        label++;
    w->out->unknown += targets[label] == NULL;
    return targets[label] ? label : 0;
}

static double score_of(Writer *w, const char *prediction)
{
    double value;
    const bool known = python_float(&value, prediction) && fabs(value) <= 1e9;
    w->out->unknown += !known;
    return known ? CLAMP(value, 0, 5) : 0;
}

/* The label as a JSON value. */
static json_t *spell(Writer *w, const char *prediction)
{
    const Spelling spelling = w->form->spelling;
    if (spelling == AS_TEXT)
        return json_string(prediction);
    if (spelling == AS_SCORE)
        return json_real(score_of(w, prediction));
    int64_t label = label_of(w, prediction);
    if (spelling == BY_NUMBER)
        return json_integer(label);
    g_autofree char *name = labels_name(w->task->labels, label), *lower = g_ascii_strdown(name, -1);
    return json_string(spelling == IN_LOWER_CASE ? lower : name);
}

/* ---- lines ---- */

static void append_json(GString *text, json_t *object)
{
    g_autofree char *line = json_dumps(object, JSON_COMPACT);
    g_string_append_printf(text, "%s\n", line);
}

static void submit_row(Writer *w, int64_t index, json_t *label)
{
    if (json_is_string(label))
        g_string_append_printf(w->out->text, "%" PRId64 "\t%s\n", index, json_string_value(label));
    else if (json_is_real(label))
        g_string_append_printf(w->out->text, "%" PRId64 "\t%.3f\n", index, json_real_value(label));
    else
        g_string_append_printf(w->out->text, "%" PRId64 "\t%" JSON_INTEGER_FORMAT "\n", index,
                               json_integer_value(label));
}

/* The list's last element if its idx is this one, else a new element with an empty list `key` (NULL means none). */
static json_t *object_in(json_t *list, json_int_t idx, const char *key)
{
    json_t *last = json_array_get(list, json_array_size(list) - 1);
    if (last && json_integer_value(json_object_get(last, "idx")) == idx)
        return last;
    json_t *made = key ? json_pack("{s:I, s:[]}", "idx", idx, key) : json_pack("{s:I}", "idx", idx);
    json_array_append_new(list, made);
    return made;
}

static void end_passage(Writer *w)
{
    if (w->object)
        append_json(w->out->text, w->object);
    g_clear_pointer(&w->object, json_decref);
}

/* Reads a whole number that is 0 or larger. */
static bool read_number(const char *text, json_int_t *number)
{
    guint64 value;
    bool good = g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, &value, NULL);
    *number = good ? (json_int_t)value : 0;
    return good;
}

/* The id is PASSAGE-QUESTION-ANSWER. */
static bool add_nested(Writer *w, const char *id, json_t *label, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(id, "-", -1);
    json_int_t at[3];
    bool good = g_strv_length(parts) == G_N_ELEMENTS(at);
    for (size_t i = 0; good && i < G_N_ELEMENTS(at); i++)
        good = read_number(parts[i], &at[i]);
    if (!good)
        return fail_user(error, "the id \"%s\" is not PASSAGE-QUESTION-ANSWER", id);
    if (w->object && json_integer_value(json_object_get(w->object, "idx")) != at[0])
        end_passage(w);
    if (w->object == NULL)
        w->object = json_pack("{s:I, s:{s:[]}}", "idx", at[0], "passage", "questions");
    json_t *questions = json_object_get(json_object_get(w->object, "passage"), "questions");
    json_t *answers = json_object_get(object_in(questions, at[1], "answers"), "answers");
    json_object_set(object_in(answers, at[2], NULL), "label", label);
    return true;
}

static bool submit_text(Writer *w, const char *id, json_t *text, GError **error)
{
    if (json_object_get(w->object, id))
        return fail_user(error, "the id \"%s\" is there twice", id);
    json_object_set(w->object, id, text);
    return true;
}

static bool add_object(Writer *w, const char *id, json_t *label, GError **error)
{
    json_int_t index;
    if (!read_number(id, &index))
        return fail_user(error, "the id \"%s\" is no number", id);
    json_auto_t *line = json_pack("{s:I, s:O}", "idx", index, "label", label);
    append_json(w->out->text, line);
    return true;
}

static bool submit_object(Writer *w, const json_t *object, GError **error)
{
    const char *id = json_string_value(json_object_get(object, "id"));
    const char *graded = json_string_value(json_object_get(object, "graded")),
               *said = json_string_value(json_object_get(object, "prediction"));
    const char *prediction = graded ? graded : said;
    if (prediction == NULL)
        return fail_user(error, "no \"prediction\": lines are those of loam eval --task --out");
    if (w->form->form != FORM_TABLE && id == NULL)
        return fail_user(error, "no \"id\": the lines are not of %s", w->task->name);
    json_auto_t *label = spell(w, prediction);
    bool good = true;
    if (w->form->form == FORM_TABLE)
        submit_row(w, w->out->n, label);
    else if (w->form->form == FORM_NESTED)
        good = add_nested(w, id, label, error);
    else if (w->form->form == FORM_OBJECT)
        good = submit_text(w, id, label, error);
    else
        good = add_object(w, id, label, error);
    w->out->n++;
    return good;
}

static bool read_lines(Writer *w, const char *path, GError **error)
{
    FILE *file = fopen(path, "r");
    g_autoptr(GString) line = g_string_new(NULL);
    bool good = true;
    if (file == NULL)
        return fail_errno(error, "cannot read", path);
    const uint64_t size = io_size(fileno(file));
    for (int64_t number = 1; good; number++) {
        json_error_t reason;
        good = io_read_line(line, file, error);
        if (good && line->len == 0)
            break;
        const size_t mark = number == 1 ? text_mark_bytes(line->str, line->len) : 0;
        json_auto_t *object =
            good ? json_loadb(line->str + mark, line->len - mark, JSON_REJECT_DUPLICATES, &reason) : NULL;
        good = good && (object ? submit_object(w, object, error) : json_fail(&reason, error));
        good = good || fail_context(error, "%s:%" PRId64, path, number);
    }
    good = good && (size == 0 || io_check_whole(path, (uint64_t)ftello(file), size, error));
    fclose(file);
    return good && (w->out->n > 0 || fail_user(error, "%s: no prediction", path));
}

bool submission_read(const Submission *form, const char *path, SubmissionText *out, GError **error)
{
    Writer w = { .form = form, .task = task_find(form->task), .out = out };
    *out = (SubmissionText){ .text = g_string_new(form->form == FORM_TABLE ? "index\tprediction\n" : NULL),
                             .stands_as = form->spelling == AS_SCORE ? "0" : "its first one" };
    if (form->form == FORM_OBJECT)
        w.object = json_object();
    bool good = read_lines(&w, path, error);
    end_passage(&w);
    return good;
}

void submission_text_clear(SubmissionText *text)
{
    g_string_free(text->text, true);
}
