#include "data/compat/compat.h"

#include "data/compat/mt19937.h"

#include <inttypes.h>
#include <math.h>

/* Length in tokens of a sentence that is too long; its document is left out, as in Megatron. */
#define LONG_SENTENCE 512
/* Share of the predicted tokens that become [MASK]; half of the others stay, half become random tokens. */
#define MASK_SHARE 0.8

/* ---- the sentences of each sample ---- */

static uint32_t draw_target(const MegatronBertSpec *spec, GRand *rng)
{
    if (spec->short_probability == 0)
        return (uint32_t)spec->max_target;
    uint32_t ratio = (uint32_t)fmin(round(1 / spec->short_probability), UINT32_MAX), word = g_rand_int(rng);
    return word % ratio == 0 ? 2 + word % (uint32_t)(spec->max_target - 1) : (uint32_t)spec->max_target;
}

static bool is_usable(int64_t first, int64_t end, const int32_t *sizes, int64_t min_sentences)
{
    for (int64_t i = first; end - first > 1 && i < end; i++)
        if (sizes[i] > LONG_SENTENCE)
            return false;
    return end - first >= min_sentences;
}

/* Cuts sentences [first, end) of a document into samples. A sample ends when it has at least `target` tokens and
 * min_sentences sentences; if then only one sentence is left, that joins the sample. */
static void map_document(const MegatronBertSpec *spec, GRand *rng, int64_t first, int64_t end, const int32_t *sizes,
                         GArray *spans)
{
    int64_t begin = first, tokens = 0;
    uint32_t target = draw_target(spec, rng);
    for (int64_t i = first; i < end; i++) {
        int64_t left = end - i - 1;
        tokens += sizes[i];
        if (left > 0 && (tokens < target || left == 1 || i + 1 - begin < spec->min_sentences))
            continue;
        const MegatronBertSpan span = { (uint32_t)begin, (uint32_t)i + 1, target };
        g_array_append_val(spans, span);
        begin = i + 1;
        tokens = 0;
        target = draw_target(spec, rng);
    }
}

static void shuffle_spans(MegatronBertSpan *spans, int64_t n, uint32_t seed)
{
    Mt19937_64 rng;
    mt19937_64_seed(&rng, (uint64_t)seed + 1);
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(mt19937_64_u64(&rng) % (uint64_t)(i + 1));
        MegatronBertSpan swapped = spans[i];
        spans[i] = spans[j];
        spans[j] = swapped;
    }
}

MegatronBertSpan *megatron_bert_mapping(const int64_t *documents, int64_t n_documents, const int32_t *sizes,
                                        const MegatronBertSpec *spec, int64_t *n_spans, GError **error)
{
    g_autoptr(GArray) spans = g_array_new(false, false, sizeof(MegatronBertSpan));
    g_autoptr(GRand) rng = g_rand_new_with_seed(spec->seed);
    do {
        for (int64_t document = 0; document < n_documents; document++) {
            int64_t first = documents[document], end = documents[document + 1];
            if (is_usable(first, end, sizes, spec->min_sentences))
                map_document(spec, rng, first, end, sizes, spans);
        }
        if (spans->len == 0)
            return fail_user(error,
                             "no document gives a sample: each needs %" PRId64
                             " sentences or more, none above %d tokens; "
                             "make the dataset with loam prepare --split-sentences",
                             spec->min_sentences, LONG_SENTENCE);
        if (spec->n_samples > INT32_MAX || spans->len > INT32_MAX)
            return fail_user(error, "data.compat orders fewer than 2^31 samples; ask for fewer by data.compat_samples");
    } while (spans->len < spec->n_samples);
    *n_spans = spans->len;
    shuffle_spans((MegatronBertSpan *)(void *)spans->data, *n_spans, spec->seed);
    return (MegatronBertSpan *)(void *)g_array_steal(spans, NULL);
}

/* ---- the example ---- */

/* Removes tokens from either end of the longer half, of b if both are equally long, until target tokens are left. */
static void truncate_halves(GRand *rng, Text *a, Text *b, int64_t target)
{
    while (a->n + b->n > target) {
        Text *longer = a->n > b->n ? a : b;
        if (numpy_random(rng) < 0.5)
            longer->tokens++;
        longer->n--;
    }
}

/* The words of an example without [CLS] and [SEP]: word w is the tokens at[i] with starts[w] <= i < starts[w + 1].
 * Pieces that continue a word at the start of the second half belong to the last word of the first half, as in
 * Megatron. Returns the number of words. */
static int64_t find_words(const ObjectiveConfig *config, const Example *out, int64_t *at, int64_t *starts)
{
    int64_t words = 0, n = 0;
    for (int64_t i = 0; i < out->n_inputs; i++) {
        int32_t id = out->inputs[i];
        if (mlm_is_special(config, id))
            continue;
        if (words == 0 || !mlm_settings(config)->whole_word || !config->continues || !config->continues[id])
            starts[words++] = n;
        at[n++] = i;
    }
    starts[words] = n;
    return words;
}

/* Draws n of 1 … max_ngram with probability proportional to 1/n, as numpy's choice does. */
static int64_t draw_ngram(GRand *rng, int64_t max_ngram)
{
    double total = 0, below = 0, all = 0, u = numpy_random(rng);
    int64_t n = 1;
    for (int64_t i = 1; i <= max_ngram; i++)
        total += 1 / (double)i;
    for (int64_t i = 1; i <= max_ngram; i++)
        all += 1 / (double)i / total;
    while (n < max_ngram && (below += 1 / (double)n / total) / all <= u)
        n++;
    return n;
}

static void hide(const ObjectiveConfig *config, GRand *rng, Example *out, int64_t at)
{
    out->weights[at] = 1;
    if (numpy_random(rng) < MASK_SHARE)
        out->inputs[at] = config->mask;
    else if (numpy_random(rng) >= 0.5)
        out->inputs[at] = (int32_t)numpy_interval(rng, (uint32_t)(config->vocab - config->n_appended) - 1);
}

/* The budget need not be whole: at a density of 15 % nothing is hidden in samples of up to 6 tokens, as in Megatron. */
static void hide_ngrams(const ObjectiveConfig *config, GRand *rng, int64_t target, Example *out)
{
    gsize n = (gsize)out->n_inputs;
    g_autofree int64_t *at = g_new(int64_t, n), *starts = g_new(int64_t, n + 1), *ngrams = g_new(int64_t, n);
    g_autofree uint32_t *order = g_new(uint32_t, n);
    double budget = fmin(config->noise_density * (double)target, fmax(1, rint((double)n * config->noise_density)));
    int64_t words = find_words(config, out, at, starts), hidden = 0;
    for (int64_t i = 0; i < words; i++)
        order[i] = (uint32_t)i;
    numpy_shuffle(rng, order, words, sizeof *order);
    for (int64_t i = 0; i < words; i++)
        ngrams[i] = draw_ngram(rng, mlm_settings(config)->max_ngram);
    for (int64_t i = 0; i < words && (double)hidden < budget; i++) {
        int64_t first = starts[order[i]], length = ngrams[i], end;
        do
            end = starts[MIN(order[i] + length, words)];
        while ((double)(hidden + end - first) > budget && --length > 0);
        bool taken = length == 0;
        for (int64_t j = first; !taken && j < end; j++)
            taken = out->weights[at[j]] > 0;
        for (int64_t j = first; !taken && j < end; j++, hidden++)
            hide(config, rng, out, at[j]);
    }
}

void megatron_bert_sample(const ObjectiveConfig *config, uint32_t seed, int64_t sample, int64_t target,
                          const int32_t *tokens, const int64_t *cu, int64_t n_sentences, Example *out)
{
    bool pair = mlm_settings(config)->sentence_pairs == PAIRS_ORDER, swapped = false;
    int64_t in_a = pair ? 1 : n_sentences;
    g_autoptr(GRand) rng = g_rand_new_with_seed((uint32_t)((uint64_t)sample + seed));
    if (pair && n_sentences >= 3)
        in_a = 1 + numpy_interval(rng, (uint32_t)n_sentences - 2);
    Text a = { .tokens = tokens, .n = cu[in_a] }, b = { .tokens = tokens + cu[in_a], .n = cu[n_sentences] - cu[in_a] };
    if (pair)
        swapped = numpy_random(rng) < 0.5;
    if (swapped) {
        Text first = a;
        a = b;
        b = first;
    }
    truncate_halves(rng, &a, &b, target);
    mlm_join(config, a, b, out);
    hide_ngrams(config, rng, target, out);
    if (pair)
        out->label = swapped;
}

/* ---- samples of a dataset ---- */

typedef struct MegatronBert {
    CompatSpec spec;
    MegatronBertSpan *spans;
    int64_t n_spans;
    uint32_t *order;     /* (n_spans) order of the samples in an epoch; NULL means the order of the mapping */
    int64_t epoch;       /* the epoch of `order`; -1 means none */
    GArray *tokens, *cu; /* int32_t, int64_t: the sentences of a sample, and their cumulative lengths */
} MegatronBert;

static MegatronBertSpan *map_dataset(const CompatSpec *spec, int64_t *n_spans, GError **error)
{
    const Indexed *set = spec->data->set;
    int64_t n = indexed_sequences(set), n_documents = indexed_documents(set), end;
    if (n > UINT32_MAX)
        return fail_user(error, "the dataset %s has more than 2^32 sentences; split it", spec->data->prefix);
    const MegatronBertSpec mapping = { .max_target = spec->config->raw_length,
                                       .min_sentences =
                                           mlm_settings(spec->config)->sentence_pairs == PAIRS_ORDER ? 2 : 1,
                                       .short_probability = mlm_settings(spec->config)->short_sequence_probability,
                                       .seed = spec->seed,
                                       .n_samples = spec->n_samples };
    g_autofree int32_t *sizes = g_new(int32_t, n);
    g_autofree int64_t *documents = g_new0(int64_t, n_documents + 1);
    for (int64_t i = 0; i < n; i++)
        sizes[i] = indexed_length(set, i);
    for (int64_t i = 0; i < n_documents; i++) {
        indexed_document(set, i, &documents[i], &end);
        documents[i + 1] = end;
    }
    return megatron_bert_mapping(documents, n_documents, sizes, &mapping, n_spans, error);
}

static void *open_mapped(const CompatSpec *spec, int64_t *n_samples, GError **error)
{
    if (mlm_settings(spec->config)->sentence_pairs == PAIRS_NEXT)
        return fail_user(
            error, "data.sentence_pairs=next: data.compat takes both halves of a pair from one text; choose order");
    MegatronBertSpan *spans = map_dataset(spec, n_samples, error);
    if (!spans) {
        g_prefix_error(error, "the dataset %s: ", spec->data->prefix);
        return NULL;
    }
    MegatronBert *bert = g_new(MegatronBert, 1);
    *bert = (MegatronBert){ .spec = *spec,
                            .spans = spans,
                            .n_spans = *n_samples,
                            .tokens = g_array_new(false, false, sizeof(int32_t)),
                            .cu = g_array_new(false, false, sizeof(int64_t)) };
    return bert;
}

static void close_mapped(void *memory)
{
    MegatronBert *bert = memory;
    g_free(bert->order);
    g_free(bert->spans);
    g_array_unref(bert->tokens);
    g_array_unref(bert->cu);
    g_free(bert);
}

static void *open_shuffled(const CompatSpec *spec, int64_t *n_samples, GError **error)
{
    MegatronBert *bert = open_mapped(spec, n_samples, error);
    if (!bert || spec->held_out)
        return bert;
    if (bert->n_spans >= TORCH_RANDPERM_LIMIT) {
        fail_user(error, "the dataset %s: data.compat=t5_experiments orders fewer than %u samples", spec->data->prefix,
                  TORCH_RANDPERM_LIMIT);
        close_mapped(bert);
        return NULL;
    }
    bert->order = g_new(uint32_t, bert->n_spans);
    bert->epoch = -1;
    return bert;
}

/* The number of the index-th sample of an epoch; without an order every epoch visits them as they are mapped. */
static int64_t find_sample(MegatronBert *bert, int64_t epoch, int64_t index)
{
    if (!bert->order)
        return index;
    if (bert->epoch != epoch)
        torch_randperm(bert->spec.seed + (uint32_t)epoch, bert->order, (uint32_t)bert->n_spans);
    bert->epoch = epoch;
    return bert->order[index];
}

static bool fill_pair(void *memory, int64_t epoch, int64_t index, Example *out, GError **error)
{
    MegatronBert *bert = memory;
    int64_t sample = find_sample(bert, epoch, index);
    MegatronBertSpan span = bert->spans[sample];
    int64_t n = span.end - span.first;
    g_array_set_size(bert->cu, (guint)n + 1);
    int64_t *cu = (int64_t *)(void *)bert->cu->data;
    cu[0] = 0;
    for (int64_t i = 0; i < n; i++)
        cu[i + 1] = cu[i] + indexed_length(bert->spec.data->set, span.first + i);
    g_array_set_size(bert->tokens, (guint)cu[n]);
    int32_t *tokens = (int32_t *)(void *)bert->tokens->data;
    if (!dataset_read(bert->spec.data, span.first, 0, cu[n], bert->spec.config->vocab, tokens, error))
        return false;
    megatron_bert_sample(bert->spec.config, bert->spec.seed, sample, span.target, tokens, cu, n, out);
    return true;
}

const CompatKind compat_megatron_bert = { COMPAT_MEGATRON, "mlm", open_mapped, close_mapped, fill_pair };
const CompatKind compat_t5_experiments_bert = { COMPAT_T5_EXPERIMENTS, "mlm", open_shuffled, close_mapped, fill_pair };
