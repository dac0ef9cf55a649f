/* task_compare.c: compares the examples of a task with each other: held-out ones with those that are trained on, and
 * these among themselves. Their answers are counted if they are a choice of a few. */
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "data/task/special.h"

#include <string.h>
#include <xxhash.h>

#define LISTED_BYTES  500       /* no more answers are listed after so much of them */
#define MOST_ANSWERS  100       /* different answers that a choice has at most */
#define MOST_EXAMPLES (1 << 20) /* examples among which contradictions are looked for; bounds the memory */

/* What an example says: the hashes of its input and of its right answer. */
typedef struct Statement {
    uint64_t input, answer;
} Statement;

struct TaskComparison {
    const Task *task;
    TaskOverlap *inputs, *answers;
    GHashTable *trained; /* char *: different answers that are trained on, up to one more than MOST_ANSWERS, and how
                            many examples have each (guint) */
    GArray *statements;  /* Statement: the first MOST_EXAMPLES examples that are trained on */
    int64_t n_trained;   /* examples that are trained on */
};

TaskComparison *task_comparison_new(const Task *task)
{
    TaskComparison *c = g_new0(TaskComparison, 1);
    c->task = task;
    c->inputs = task_overlap_new();
    c->answers = task_overlap_new();
    c->trained = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    c->statements = g_array_new(false, false, sizeof(Statement));
    return c;
}

void task_comparison_free(TaskComparison *c)
{
    task_overlap_free(c->inputs);
    task_overlap_free(c->answers);
    g_hash_table_unref(c->trained);
    g_array_unref(c->statements);
    g_free(c);
}

static void count_answer(GHashTable *answers, const char *answer)
{
    const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(answers, answer));
    if (n > 0 || g_hash_table_size(answers) <= MOST_ANSWERS)
        g_hash_table_insert(answers, g_strdup(answer), GUINT_TO_POINTER(n + 1));
}

void task_comparison_add(TaskComparison *c, const TaskExample *example, bool trains)
{
    const char *answer = example->targets->len ? example->targets->pdata[0] : NULL;
    const Statement says = { task_input_hash(example), answer ? XXH3_64bits(answer, strlen(answer)) : 0 };
    if (example->excluded)
        return;
    c->n_trained += trains;
    if (trains)
        task_overlap_train(c->inputs, says.input);
    else
        task_overlap_hold(c->inputs, says.input, says.input);
    if (answer && !trains)
        task_overlap_hold(c->answers, says.answer, says.answer);
    if (!answer || !trains)
        return;
    task_overlap_train(c->answers, says.answer);
    count_answer(c->trained, answer);
    if (c->statements->len < MOST_EXAMPLES)
        g_array_append_val(c->statements, says);
}

bool task_is_choice(guint different, int64_t n)
{
    return different <= MOST_ANSWERS && n >= 4 * (int64_t)different;
}

static bool is_choice(const TaskComparison *c)
{
    return c->task->learns == LABELS_NONE && task_is_choice(g_hash_table_size(c->trained), c->n_trained);
}

bool task_has_unknown(const Tokenizer *tok, const GArray *ids)
{
    const int32_t unknown = tokenizer_unk(tok);
    bool found = false;
    for (guint i = 0; unknown >= 0 && i < ids->len; i++)
        found |= g_array_index(ids, int32_t, i) == unknown;
    return found;
}

/* The text that the tokenizer makes of an answer's ids, if it is another one: in lower case, or with one space for two.
 * NULL means that it is not, or that an id is the unknown token, which note_unknown counts. g_free. */
static char *changed_by(const Tokenizer *tok, const char *answer)
{
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    if (!tokenizer_encode(tok, answer, strlen(answer), true, ids, NULL) || task_has_unknown(tok, ids))
        return NULL;
    g_autofree char *text = tokenizer_decode_answer(tok, ids, NULL), *right = g_strstrip(g_strdup(answer));
    return text && strcmp(g_strstrip(text), right) != 0 ? g_steal_pointer(&text) : NULL;
}

/* Logs how many examples have each answer, of those whose names come first: "bad 300, good 60". */
static void report_counts(const TaskComparison *c, const GPtrArray *answers)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint i = 0;
    for (; i < answers->len && text->len < LISTED_BYTES; i++)
        g_string_append_printf(text, "%s%s %u", i ? ", " : "", (const char *)answers->pdata[i],
                               GPOINTER_TO_UINT(g_hash_table_lookup(c->trained, answers->pdata[i])));
    if (i < answers->len)
        g_string_append_printf(text, ", and %u more", answers->len - i);
    log_info("labels to train on: %s", text->str);
}

/* Lists answers to choose from, and warns of those that are probably one, or that no model can write. */
static void report_choice(const TaskComparison *c, const Tokenizer *tok, const char *path)
{
    g_autoptr(GPtrArray) answers = g_ptr_array_new();
    g_autofree char *a = NULL, *b = NULL, *text = NULL;
    GHashTableIter each;
    gpointer answer;
    g_hash_table_iter_init(&each, c->trained);
    while (g_hash_table_iter_next(&each, &answer, NULL))
        g_ptr_array_add(answers, answer);
    g_ptr_array_sort(answers, text_compare);
    report_counts(c, answers);
    if (labels_find_alike(answers, &a, &b))
        log_warning("%s: are %s and %s one answer? A model learns to write both, and scores tell them apart unless "
                    "they differ only in white space around them",
                    path, a, b);
    for (guint i = 0; i < answers->len && !text; i++)
        if ((text = changed_by(tok, answers->pdata[i])))
            log_warning("%s: the tokenizer makes \"%s\" of the answer \"%s\", so no model can write it", path, text,
                        (char *)answers->pdata[i]);
}

static int statement_compare(const void *a, const void *b)
{
    const Statement *x = a, *y = b;
    return x->input != y->input ? (x->input > y->input) - (x->input < y->input)
                                : (x->answer > y->answer) - (x->answer < y->answer);
}

/* Number of examples whose input other examples have with another answer. Sorts c->statements. */
static int64_t count_contradictions(const TaskComparison *c)
{
    const Statement *all = (const Statement *)(const void *)c->statements->data;
    int64_t found = 0;
    g_array_sort(c->statements, statement_compare);
    for (guint first = 0, end; first < c->statements->len; first = end) {
        for (end = first + 1; end < c->statements->len && all[end].input == all[first].input;)
            end++;
        found += all[first].answer != all[end - 1].answer ? end - first : 0;
    }
    return found;
}

/* Says how many examples to train on contradict others, if each has one of a few labels: texts that a model writes may
 * well be different for one input. */
static void report_contradictions(const TaskComparison *c, const char *path)
{
    const LabelKind learns = c->task->learns;
    const bool labels = labels_have_names(learns) || learns == LABELS_CHOICE || is_choice(c);
    const int64_t found = labels ? count_contradictions(c) : 0, all = c->statements->len;
    g_autofree char *some = text_grouped(found), *of = text_grouped(all),
                    *line = g_strdup_printf("%s: %s of %s%s examples have a text that others have with another label",
                                            path, some, all == MOST_EXAMPLES ? "the first " : "", of);
    if (100 * found >= all && found > 0)
        log_warning("%s, so no model can be right about all of them", line);
    else if (found > 0)
        log_info("%s", line);
}

/* Warns of held-out inputs that are trained on, and of right answers that a model which chooses never sees. */
static void report_comparison(const TaskComparison *c, const char *held_out)
{
    int64_t n_answers;
    const int64_t seen = task_overlap_count(c->answers, &n_answers), unseen = n_answers - seen;
    g_autofree char *none = text_grouped(unseen), *answers = text_grouped(n_answers);
    task_overlap_warn(c->inputs, held_out);
    if (unseen > 0 && is_choice(c))
        log_warning("%s: %s of %s right answers are none of the %u that are trained on", held_out, none, answers,
                    g_hash_table_size(c->trained));
}

void task_comparison_report(const TaskComparison *c, const Tokenizer *tok, const char *trained, const char *held_out)
{
    if (tok && is_choice(c))
        report_choice(c, tok, trained);
    report_contradictions(c, trained);
    if (held_out)
        report_comparison(c, held_out);
}

bool task_files_same(const TaskFile *train, const TaskFile *valid)
{
    const bool same =
        valid->path && valid->part == TASK_PART_ALL && !io_check_apart(valid->path, &train->path, 1, NULL);
    if (same)
        log_warning("task.valid: %s is trained on (task.data), so its scores say little of other examples; "
                    "task.valid=5%% holds some out",
                    valid->path);
    return same;
}

typedef struct Part {
    TaskComparison *comparison;
    bool trains;
} Part;

static bool compare_example(void *context, const TaskExample *example, G_GNUC_UNUSED const Record *record,
                            G_GNUC_UNUSED GError **error)
{
    const Part *part = context;
    task_comparison_add(part->comparison, example, part->trains);
    return true;
}

static bool compare_file(TaskComparison *comparison, const TaskConfig *config, const TaskFile *file, bool trains,
                         GError **error)
{
    Part part = { comparison, trains };
    TaskFile quiet = *file;
    quiet.quiet = true;
    TaskReader *reader = task_reader_open(comparison->task, config, &quiet, trains, error);
    const bool good = reader && task_reader_each(reader, compare_example, &part, error);
    task_reader_close(reader);
    return good;
}

bool task_compare(const Task *task, const TaskConfig *config, const TaskFile *train, const TaskFile *valid,
                  GError **error)
{
    TaskComparison *comparison = task_comparison_new(task);
    const bool same = task_files_same(train, valid), holds_out = valid->path && !same;
    const bool good = (!holds_out || compare_file(comparison, config, valid, false, error)) &&
                      compare_file(comparison, config, train, true, error);
    if (good)
        task_comparison_report(comparison, NULL, train->path, holds_out ? valid->path : NULL);
    task_comparison_free(comparison);
    return good;
}
