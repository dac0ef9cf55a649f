#include "eval/rank.h"
#include "base/text.h"
#include "data/dataset/dataset.h"

#include "eval/sampler.h"

#include <string.h>
#include <xxhash.h>

#define MOST_LABELS  100
#define SIDE_BY_SIDE 64 /* sequences (prompts × labels) that are scored at once; more if one prompt has more labels */

int rank_find(const char *name)
{
    static const char *const names[] = { "sum", "bytes", "tokens" };
    for (int i = 0; i < (int)G_N_ELEMENTS(names); i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* ---- labels ---- */

static void add_distinct(GPtrArray *labels, const char *label)
{
    if (!g_ptr_array_find_with_equal_func(labels, label, g_str_equal, NULL))
        g_ptr_array_add(labels, g_strdup(label));
}

/* As collect, of the dataset that a run was trained on: the second sequence of each document is a target. */
static bool collect_trained(const char *prefix, const Tokenizer *tok, GPtrArray *labels, GError **error)
{
    g_autoptr(Dataset) data = dataset_open(prefix, error);
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    bool good = data != NULL;
    for (int64_t i = 0; good && i < indexed_documents(data->set) && labels->len <= MOST_LABELS; i++) {
        int64_t first, last;
        indexed_document(data->set, i, &first, &last);
        g_array_set_size(ids, (guint)indexed_length(data->set, first + 1));
        good = dataset_read(data, first + 1, 0, ids->len, INT32_MAX, (int32_t *)(void *)ids->data, error);
        g_autofree char *label = good ? tokenizer_decode_answer(tok, ids, error) : NULL;
        good = label != NULL;
        if (good && *label)
            add_distinct(labels, label);
    }
    return good;
}

/* Appends the distinct right answers of the file to `labels`; stops when there are too many. */
static bool collect(const Task *task, const TaskConfig *config, const TaskFile *file, GPtrArray *labels, GError **error)
{
    g_autoptr(TaskReader) reader = task_reader_open(task, config, file, false, error);
    TaskExample example;
    Record record;
    GError *problem = NULL;
    if (!reader)
        return false;
    while (labels->len <= MOST_LABELS && task_reader_next(reader, &example, &record, &problem)) {
        for (guint i = 0; i < example.targets->len; i++)
            add_distinct(labels, example.targets->pdata[i]);
        task_example_clear(&example);
    }
    return problem == NULL || fail_with(error, problem);
}

/* Gives labels that the tokenizer has changed, such as to lower case, the spelling that right answers of the file have:
 * with another one no answer would be right. */
static void spell_labels(GPtrArray *labels, const Task *task, const TaskConfig *config, const Tokenizer *tok,
                         const TaskFile *file)
{
    g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    if (file->path && g_file_test(file->path, G_FILE_TEST_IS_REGULAR)) /* a pipe can be read only once */
        collect(task, config, file, answers, NULL);
    for (guint i = 0, at; i < answers->len; i++) {
        const char *answer = answers->pdata[i];
        g_array_set_size(ids, 0);
        g_autofree char *text = tokenizer_encode(tok, answer, strlen(answer), true, ids, NULL)
                                    ? tokenizer_decode_answer(tok, ids, NULL)
                                    : NULL;
        if (!text || !g_ptr_array_find_with_equal_func(labels, text, g_str_equal, &at))
            continue;
        g_autofree char *bare = g_strstrip(g_strdup(answer));
        if (strcmp(g_strstrip(text), bare) == 0)
            continue;
        g_free(labels->pdata[at]);
        labels->pdata[at] = g_strdup(answer);
    }
}

char **rank_collect_labels(const Task *task, const TaskConfig *config, const Tokenizer *tok, const TaskFile *file,
                           GError **error)
{
    if (task->labels)
        return task_label_texts(task);
    g_autoptr(GPtrArray) labels = g_ptr_array_new_with_free_func(g_free);
    if (config->trained ? !collect_trained(config->trained, tok, labels, error)
                        : !collect(task, config, file, labels, error))
        return NULL;
    if (config->trained)
        spell_labels(labels, task, config, tok, file);
    if (labels->len < 2 && !config->trained && file->quiet) { /* names the rows that were left out: why there is none */
        TaskFile again = *file;
        again.quiet = false;
        collect(task, config, &again, labels, NULL);
    }
    if (labels->len < 2 || labels->len > MOST_LABELS)
        return fail_user(error, "--rank: %s has %s: a choice needs 2 to %d labels; task.labels names them",
                         config->trained ? config->trained : file->path,
                         labels->len == 0   ? "no right answer"
                         : labels->len == 1 ? "a single right answer"
                                            : "too many different right answers",
                         MOST_LABELS);
    g_ptr_array_sort(labels, text_compare);
    g_ptr_array_add(labels, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&labels), false);
}

static bool add_label(Ranking *ranking, const Tokenizer *tok, guint index, GError **error)
{
    const RankOptions *options = &ranking->options;
    const guint first = ranking->ids->len;
    const int32_t eos = tokenizer_eos(tok);
    char *name = ranking->names[index];
    g_autofree char *text = g_strconcat(options->gap && !g_ascii_isspace(*name) ? " " : "", name, NULL);
    frame_append(ranking->ids, &options->before);
    if (!tokenizer_encode(tok, text, strlen(text), true, ranking->ids, error))
        return false;
    if (options->eos && eos >= 0)
        g_array_append_val(ranking->ids, eos);
    const int32_t end = (int32_t)ranking->ids->len, n = end - (int32_t)first;
    if (n == options->before.n)
        return fail_user(error, "--rank: the label \"%s\" has no token", name);
    g_array_append_val(ranking->cu, end);
    ranking->longest = MAX(ranking->longest, (int64_t)n);
    const size_t bytes = strlen(name + strspn(name, " \t\r\n"));
    ranking->divisors[index] = options->by == RANK_BYTES    ? (double)MAX(bytes, 1)
                               : options->by == RANK_TOKENS ? (double)n
                                                            : 1;
    if (options->joined)
        g_strchug(name);
    return true;
}

Ranking *ranking_open(const Tokenizer *tok, char *const *labels, const RankOptions *options, GError **error)
{
    Ranking *ranking = g_new(Ranking, 1);
    const guint n = g_strv_length((char **)labels);
    const int32_t zero = 0;
    *ranking = (Ranking){ .options = *options,
                          .names = g_strdupv((char **)labels),
                          .ids = g_array_new(false, false, sizeof(int32_t)),
                          .cu = g_array_new(false, false, sizeof(int32_t)),
                          .divisors = g_new(double, n) };
    g_array_append_val(ranking->cu, zero);
    for (guint i = 0; i < n; i++)
        if (!add_label(ranking, tok, i, error)) {
            ranking_close(ranking);
            return NULL;
        }
    return ranking;
}

void ranking_close(Ranking *ranking)
{
    if (!ranking)
        return;
    g_strfreev(ranking->names);
    g_array_unref(ranking->ids);
    g_array_unref(ranking->cu);
    g_free(ranking->divisors);
    g_free(ranking);
}

uint64_t ranking_hash(const Ranking *ranking)
{
    uint64_t hash = (uint64_t)ranking->options.by;
    for (char **name = ranking->names; *name; name++)
        hash = XXH3_64bits_withSeed(*name, strlen(*name) + 1, hash);
    hash = XXH3_64bits_withSeed(ranking->ids->data, ranking->ids->len * sizeof(int32_t), hash);
    return XXH3_64bits_withSeed(ranking->cu->data, ranking->cu->len * sizeof(int32_t), hash);
}

/* ---- scores ---- */

/* Appends tokens[r] to each sequence, adds the log-probabilities of token number `step` of the labels, and makes these
 * the next tokens. Sequence r belongs to label r mod n_labels. */
static void score_step(Decoder *decoder, const Ranking *ranking, int64_t vocab, int32_t sequences, int32_t step,
                       int32_t *tokens, double *logprobs)
{
    const int32_t n_labels = (int32_t)ranking->cu->len - 1;
    const int32_t *cu = (const int32_t *)(const void *)ranking->cu->data,
                  *ids = (const int32_t *)(const void *)ranking->ids->data;
    const float *logits = decoder_step(decoder, tokens);
    for (int32_t r = 0; r < sequences; r++) {
        const int32_t label = r % n_labels, at = cu[label] + step;
        if (at >= cu[label + 1])
            continue;
        const float *row = logits + r * vocab;
        logprobs[r] += (double)row[ids[at]] - sampler_log_sum(row, vocab);
        tokens[r] = ids[at];
    }
}

static void choose_answer(const Ranking *ranking, const double *logprobs, Answer *out)
{
    const guint n = ranking->cu->len - 1;
    guint best = 0;
    for (guint i = 1; i < n; i++)
        if (logprobs[i] / ranking->divisors[i] > logprobs[best] / ranking->divisors[best])
            best = i;
    *out = (Answer){ .text = g_strdup(ranking->names[best]),
                     .logprob = logprobs[best],
                     .label_logprobs = g_memdup2(logprobs, n * sizeof *logprobs) };
}

/* Ranks the labels for prompts that are scored in one batch. */
static bool rank_some(Model *model, const Prompts *prompts, const Ranking *ranking, Answer *out, GError **error)
{
    const int32_t n_labels = (int32_t)ranking->cu->len - 1, sequences = prompts->n * n_labels;
    const ModelConfig *config = model_config(model);
    g_autoptr(Decoder) decoder = decoder_open(model, prompts, n_labels, ranking->longest, error);
    if (decoder == NULL)
        return false;
    g_autofree double *logprobs = g_new0(double, sequences);
    g_autofree int32_t *tokens = g_new(int32_t, sequences);
    for (int32_t r = 0; r < sequences; r++)
        tokens[r] = config->n_enc > 0 ? MAX(model_roles(model)->decoder_start, 0)
                                      : prompts->ids[prompts->cu[r / n_labels + 1] - 1];
    for (int32_t step = 0; step < ranking->longest; step++)
        score_step(decoder, ranking, config->vocab, sequences, step, tokens, logprobs);
    for (int32_t r = 0; r < sequences; r++)
        if (!isfinite(logprobs[r]))
            return fail_not_finite(model, "a label a log-probability", logprobs[r], error);
    for (int32_t i = 0; i < prompts->n; i++)
        choose_answer(ranking, logprobs + i * n_labels, &out[i]);
    return true;
}

bool rank_labels(Model *model, const Prompts *prompts, const Ranking *ranking, Answer *out, GError **error)
{
    const int32_t at_once = MAX(SIDE_BY_SIDE / (int32_t)(ranking->cu->len - 1), 1);
    bool good = true;
    memset(out, 0, (gsize)prompts->n * sizeof *out);
    for (int32_t first = 0; good && first < prompts->n; first += at_once) {
        const Prompts some = { .ids = prompts->ids, .cu = prompts->cu + first, .n = MIN(at_once, prompts->n - first) };
        good = rank_some(model, &some, ranking, out + first, error);
    }
    for (int32_t i = 0; !good && i < prompts->n; i++)
        answer_clear(&out[i]);
    return good;
}
