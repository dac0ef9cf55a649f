#include "eval/classify.h"

#include "base/check.h"
#include "base/text.h"

#include <string.h>

struct Classify {
    Model *model;
    const Task *task;
    int64_t outputs;
    bool by_token, none; /* by_token: logits of each token; none: "" (no answer) is possible */
    Batch *batch;
    float *logits;      /* logits of the batch */
    GPtrArray *targets; /* float *: destination of the logits of each sequence of the batch */
};

Classify *classify_open(Model *model, const Task *task, int64_t length, GError **error)
{
    if (!model_config_fits(model_config(model), length, error))
        return NULL;
    int64_t outputs = model_config_outputs(model_config(model));
    g_autoptr(Batch) batch = model_classifier_batch(length);
    if (!model_reserve_classifier(model, batch, error))
        return NULL;
    Classify *classify = g_new0(Classify, 1);
    *classify = (Classify){ .model = model,
                            .task = task,
                            .outputs = outputs,
                            .by_token = task->learns == LABELS_TOKENS || task->learns == LABELS_SPAN,
                            .none = strstr(task->scores, "squad2") != NULL,
                            .logits = g_new(float, (gsize)(MAX(batch->enc.max_tokens, batch->enc.max_seq) * outputs)),
                            .targets = g_ptr_array_new() };
    classify->batch = g_steal_pointer(&batch);
    return classify;
}

void classify_close(Classify *classify)
{
    if (classify == NULL)
        return;
    batch_free(classify->batch);
    g_free(classify->logits);
    g_ptr_array_unref(classify->targets);
    g_free(classify);
}

/* ---- logits ---- */

/* Classifies the sequences of the batch, and copies the logits of each to its destination. */
static void flush(Classify *classify)
{
    const TokenStream *stream = &classify->batch->enc;
    if (stream->n_seq == 0)
        return;
    model_classify(classify->model, classify->batch, classify->logits);
    for (int32_t s = 0; s < stream->n_seq; s++) {
        int64_t first = classify->by_token ? stream->cu[s] : s,
                n = classify->by_token ? stream->cu[s + 1] - stream->cu[s] : 1;
        memcpy(classify->targets->pdata[s], classify->logits + first * classify->outputs,
               (gsize)(n * classify->outputs) * sizeof(float));
    }
    batch_clear(classify->batch);
    g_ptr_array_set_size(classify->targets, 0);
}

static void add_sequence(Classify *classify, const TaskInputs *inputs, int32_t s, float *target)
{
    const TokenStream *stream = &classify->batch->enc;
    const int32_t first = g_array_index(inputs->cu, int32_t, s), n = g_array_index(inputs->cu, int32_t, s + 1) - first;
    const int32_t second = g_array_index(inputs->second, int32_t, s),
                  *ids = &g_array_index(inputs->ids, int32_t, first);
    bool types = model_config(classify->model)->token_types > 1;
    g_autofree float *weights = g_new0(float, (gsize)n);
    g_autofree int32_t *token_types = g_new0(int32_t, (gsize)n);
    CHECK(n >= 1 && n <= stream->max_len, "a sequence of %d tokens, at most %d", n, stream->max_len);
    if (stream->n_seq == stream->max_seq || n > stream->max_tokens - stream->n_tokens)
        flush(classify);
    for (int32_t i = second; types && second > 0 && i < n; i++)
        token_types[i] = 1;
    batch_add_sequence(
        classify->batch,
        &(BatchSequence){
            .n = n, .ids = ids, .targets = ids, .weights = weights, .token_types = token_types, .label = -1 });
    g_ptr_array_add(classify->targets, target);
}

/* ---- answers ---- */

/* out (n) = log softmax of n numbers of x, which are `step` elements apart. */
static void log_softmax(double *out, const float *x, int64_t n, int64_t step)
{
    double max = (double)x[0], sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = fmax(max, (double)x[i * step]);
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i * step] - max);
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)x[i * step] - max - log(sum);
}

static int64_t largest(const double *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* Index of the largest of n logits; *out receives the probabilities of all, and the log-probability of the largest. */
static int64_t choose_class(const float *logits, int64_t n, Answer *out)
{
    g_autofree double *logs = g_new(double, (gsize)n);
    log_softmax(logs, logits, n, 1);
    int64_t best = largest(logs, n);
    out->logprob = logs[best];
    out->n_probabilities = n;
    out->probabilities = g_new(double, (gsize)n);
    for (int64_t i = 0; i < n; i++)
        out->probabilities[i] = exp(logs[i]);
    return best;
}

/* Appends the most likely tag of each word to the answer. A word that did not fit in the input gets the tag O, or the
 * first class if there is no O. */
static void tag(const Classify *classify, const TaskInputs *inputs, const float *logits, Answer *out)
{
    const char *labels = model_config(classify->model)->labels;
    g_auto(GStrv) names = text_list(labels);
    g_autofree double *logs = g_new(double, (gsize)classify->outputs);
    int64_t outside = MAX(labels_find(labels, "O"), 0);
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < inputs->words->len; i++) {
        int32_t token = g_array_index(inputs->words, int32_t, i);
        int64_t best = outside;
        if (token >= 0) {
            log_softmax(logs, logits + token * classify->outputs, classify->outputs, 1);
            best = largest(logs, classify->outputs);
            out->logprob += logs[best];
        }
        g_string_append_printf(text, "%s%s", i ? " " : "", names[best]);
    }
    out->text = g_string_free(text, false);
}

typedef struct Span {
    double score, logprob;
    uint32_t from, to; /* the span: bytes [from, to) of the text */
} Span;

/* Replaces *best if sequence s, a window of the text, has a span with a higher score. Returns the score of "no answer",
 * which is the score of the span of token 0 (CLS). */
static double find_span(const TaskInputs *inputs, int32_t s, const float *logits, Span *best)
{
    const int32_t first = g_array_index(inputs->cu, int32_t, s), n = g_array_index(inputs->cu, int32_t, s + 1) - first;
    const TokenRange *tokens = &g_array_index(inputs->ranges, TokenRange, first);
    g_autofree double *begins = g_new(double, (gsize)n), *ends = g_new(double, (gsize)n);
    const float *x = logits + 2 * first;
    log_softmax(begins, x, n, 2);
    log_softmax(ends, x + 1, n, 2);
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = i; tokens[i].end > tokens[i].begin && j < MIN(n, i + TASK_SPAN_TOKENS); j++) {
            double score = (double)x[2 * i] + (double)x[2 * j + 1];
            if (tokens[j].end > tokens[j].begin && score > best->score)
                *best = (Span){ score, begins[i] + ends[j], tokens[i].begin, tokens[j].end };
        }
    return (double)x[0] + (double)x[1];
}

static void answer_example(const Classify *classify, const TaskExample *example, const TaskInputs *inputs,
                           const float *logits, Answer *out)
{
    Span best = { .score = -INFINITY };
    double none = INFINITY;
    for (int32_t s = 0; s < task_inputs_count(inputs); s++)
        none = fmin(none, find_span(inputs, s, logits, &best));
    bool empty = classify->none && none > best.score;
    out->text = empty ? g_strdup("") : g_strndup(example->second + best.from, best.to - best.from);
    out->logprob = isfinite(best.score) ? best.logprob : 0;
    g_strstrip(out->text);
}

static void conclude(const Classify *classify, const TaskExample *example, const TaskInputs *inputs,
                     const float *logits, Answer *out)
{
    switch (classify->task->learns) {
    case LABELS_TOKENS:
        tag(classify, inputs, logits, out);
        break;
    case LABELS_SPAN:
        answer_example(classify, example, inputs, logits, out);
        break;
    case LABELS_CHOICE:
        out->text = g_strdup_printf("%" G_GINT64_FORMAT, choose_class(logits, task_inputs_count(inputs), out));
        break;
    case LABELS_VALUE:
        out->text = g_strdup_printf("%.9g", (double)logits[0]); /* tells every float from the next */
        break;
    default:
        out->text = labels_name(model_config(classify->model)->labels, choose_class(logits, classify->outputs, out));
    }
}

bool classify_run(Classify *classify, const TaskExample *examples, const TaskInputs *inputs, int32_t n, Answer *out,
                  GError **error)
{
    g_autoptr(GPtrArray) logits = g_ptr_array_new_with_free_func(g_free);
    bool good = true;
    for (int32_t i = 0; i < n; i++) {
        int32_t sequences = task_inputs_count(&inputs[i]);
        int64_t rows = classify->by_token ? (int64_t)inputs[i].ids->len : sequences;
        float *own = g_new(float, (gsize)(rows * classify->outputs));
        g_ptr_array_add(logits, own);
        for (int32_t s = 0; s < sequences; s++)
            add_sequence(classify, &inputs[i], s,
                         own + classify->outputs * (classify->by_token ? g_array_index(inputs[i].cu, int32_t, s) : s));
    }
    flush(classify);
    memset(out, 0, (gsize)n * sizeof *out);
    for (int32_t i = 0; good && i < n; i++) {
        int64_t rows = classify->by_token ? (int64_t)inputs[i].ids->len : task_inputs_count(&inputs[i]);
        good = check_finite(classify->model, "a logit", logits->pdata[i], rows * classify->outputs, error);
        if (good)
            conclude(classify, &examples[i], &inputs[i], logits->pdata[i], &out[i]);
    }
    for (int32_t i = 0; !good && i < n; i++)
        answer_clear(&out[i]);
    return good;
}
