#include "eval/task_eval.h"

#include "base/log.h"
#include "base/order.h"
#include "eval/task_examples.h"

#include <string.h>
#include <xxhash.h>

#define CHOICE_SEED 0x73636f72 /* seed of the hash that chooses n examples */

/* ---- which examples ---- */

/* The n examples with the smallest keys are evaluated. A group (the answers to one question) shares a key. */
static uint64_t example_key(const TaskExample *example, int64_t index)
{
    return example->group ? XXH3_64bits_withSeed(example->group, strlen(example->group), CHOICE_SEED)
                          : XXH3_64bits_withSeed(&index, sizeof index, CHOICE_SEED);
}

static void hash_text(TaskEval *eval, const char *text)
{
    eval->hash = XXH3_64bits_withSeed(text, strlen(text) + 1, eval->hash);
}

/* Encodes an example, whose ownership it takes, and adds it to those that are answered. */
static bool keep_example(TaskEval *eval, const Record *record, const TaskExample *example, GError **error)
{
    TaskExample *kept = g_memdup2(example, sizeof *example);
    g_ptr_array_add(eval->examples, kept);
    hash_text(eval, kept->input);
    hash_text(eval, kept->second ? kept->second : "");
    for (guint i = 0; i < kept->targets->len; i++)
        hash_text(eval, kept->targets->pdata[i]);
    return answer_batch_add(&eval->batch, &eval->encoder, record, kept, error);
}

/* Reads all examples of the file. keys (uint64_t): appends the key of each. keys NULL: keeps those with a key of at
 * most `limit` whose right answer is known. */
static bool read_examples(TaskEval *eval, const TaskFile *file, GArray *keys, uint64_t limit, GError **error)
{
    TaskFile quiet = *file;
    quiet.quiet = keys != NULL; /* a second pass follows */
    g_autoptr(TaskExamples) examples = task_examples_open(eval->encoder.task, eval->encoder.config, &quiet, error);
    TaskExample example;
    Record record;
    GError *problem = NULL;
    if (!examples)
        return false;
    for (eval->total = 0; !problem && task_examples_next(examples, &example, &record, &problem); eval->total++) {
        const uint64_t key = example_key(&example, eval->total);
        if (keys)
            g_array_append_val(keys, key);
        if (!keys && key <= limit && example.known)
            keep_example(eval, &record, &example, &problem);
        else
            task_example_clear(&example);
    }
    return problem == NULL || fail_with(error, problem);
}

/* The largest key of the n examples that are chosen. */
static bool find_limit(TaskEval *eval, const TaskFile *file, int64_t n, uint64_t *limit, GError **error)
{
    g_autoptr(GArray) keys = g_array_new(false, false, sizeof(uint64_t));
    *limit = UINT64_MAX;
    if (n == 0)
        return true;
    if (!read_examples(eval, file, keys, 0, error))
        return false;
    g_array_sort(keys, order_u64);
    if (n < keys->len)
        *limit = g_array_index(keys, uint64_t, n - 1);
    return true;
}

/* ---- opening and running ---- */

TaskEval *task_eval_open(const TaskEncoder *encoder, const TaskFile *file, int64_t n, GError **error)
{
    TaskEval *eval = g_new(TaskEval, 1);
    uint64_t limit;
    *eval = (TaskEval){ .encoder = *encoder,
                        .batch = answer_batch_new(),
                        .examples = g_ptr_array_new_with_free_func(task_example_free),
                        .answers = g_ptr_array_new_with_free_func(g_free) };
    if (find_limit(eval, file, n, &limit, error) && read_examples(eval, file, NULL, limit, error) &&
        eval->examples->len > 0)
        return eval;
    task_eval_close(eval);
    return NULL;
}

void task_eval_close(TaskEval *eval)
{
    if (eval == NULL)
        return;
    answer_batch_free(&eval->batch);
    g_ptr_array_unref(eval->examples);
    g_ptr_array_unref(eval->answers);
    g_free(eval);
}

void task_eval_report(const TaskEval *eval, const char *path)
{
    g_autofree char *what = g_strdup_printf("evaluations of %s", path);
    if (eval->encoder.joined)
        task_encoder_report(&eval->encoder, what);
}

/* Answers the examples from number `first` on, at most ANSWER_BATCH of them, and appends each answer with a NUL. */
static bool answer_some(TaskEval *eval, Model *model, int32_t first, GString *texts, GError **error)
{
    const AnswerOptions greedy = { .max_tokens = eval->encoder.target_length, .beams = 1 };
    const int32_t n = MIN(ANSWER_BATCH, (int32_t)eval->examples->len - first);
    Answer found[ANSWER_BATCH] = { 0 };
    if (!answer_batch_run(&eval->batch, first, n, model, &eval->encoder, &greedy, found, error))
        return false;
    for (int32_t i = 0; i < n; i++) {
        g_autofree char *text = g_utf8_make_valid(found[i].text, -1);
        g_string_append_len(texts, text, (gssize)strlen(text) + 1);
        answer_clear(&found[i]);
    }
    return true;
}

bool task_eval_check(const TaskEval *eval, GError **error)
{
    g_auto(TaskScores) scores = task_scores_new(eval->encoder.task);
    g_autoptr(GArray) metrics = metric_list_new();
    bool good = true;
    for (guint i = 0; good && i < eval->examples->len; i++) {
        const TaskExample *example = eval->examples->pdata[i];
        good = task_scores_check_example(eval->encoder.task, example, "an example", error);
        task_scores_add(&scores, example, example->targets->len > 0 ? example->targets->pdata[0] : "");
    }
    return good && task_scores_metrics(&scores, metrics, error);
}

/* Answers every size-th batch from number `rank` on. */
static bool answer_part(TaskEval *eval, Model *model, int rank, int size, bool (*stop)(void), GString *texts,
                        GError **error)
{
    const int32_t n = (int32_t)eval->examples->len;
    bool good = true;
    progress_open("answering", "examples", (uint64_t)n);
    for (int32_t first = rank * ANSWER_BATCH; good && first < n; first += size * ANSWER_BATCH) {
        good = (!stop || !stop() || fail_stopped(error)) && answer_some(eval, model, first, texts, error);
        progress_update((uint64_t)MIN(first + size * ANSWER_BATCH, n));
    }
    progress_close();
    return good;
}

/* Adds the answers to the scores in the order of the examples. */
static void add_answers(TaskEval *eval, int size, const char *all, size_t bytes, TaskScores *scores)
{
    g_autofree const char **next = g_new(const char *, size);
    for (int r = 0; r < size; r++)
        next[r] = all + (size_t)r * bytes;
    g_ptr_array_set_size(eval->answers, 0);
    for (guint i = 0; i < eval->examples->len; i++) {
        const char **text = &next[i / ANSWER_BATCH % (guint)size];
        task_scores_add(scores, eval->examples->pdata[i], *text);
        g_ptr_array_add(eval->answers, g_strdup(*text));
        *text += strlen(*text) + 1;
    }
}

bool task_eval_run(TaskEval *eval, Model *model, Comm *ranks, bool (*stop)(void), GArray *metrics, GError **error)
{
    g_autoptr(GString) texts = g_string_new(NULL);
    const int size = comm_size(ranks);
    params_unlike(model_params(model));
    bool good = answer_part(eval, model, comm_rank(ranks), size, stop, texts, error);
    params_alike_again(model_params(model));
    if (!comm_agree(ranks, good, error))
        return false;
    size_t bytes;
    g_autofree char *all = comm_gather(ranks, texts->str, texts->len, &bytes);
    if (!comm_check(ranks, error))
        return false;
    g_auto(TaskScores) scores = task_scores_new(eval->encoder.task);
    add_answers(eval, size, all, bytes, &scores);
    return task_scores_metrics(&scores, metrics, error);
}

/* Appends a text as a code block of Markdown, which shows it as it is. */
static void put_block(GString *out, const char *title, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *body = g_strjoinv("\n    ", lines);
    g_string_append_printf(out, "%s\n\n    %s\n\n", title, body);
}

char *task_eval_samples(const TaskEval *eval, int64_t n)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < eval->answers->len && i < n; i++) {
        const TaskExample *example = eval->examples->pdata[i];
        put_block(out, "**input**", example->input);
        if (example->second)
            put_block(out, "second input", example->second);
        put_block(out, "right", example->targets->len > 0 ? example->targets->pdata[0] : "");
        put_block(out, "answer", eval->answers->pdata[i]);
    }
    return g_string_free(out, out->len == 0);
}
