#include "data/compat/compat.h"

#include "data/compat/mt19937.h"

#include <inttypes.h>

/* The last pass is shuffled separately if only a smaller fraction of its samples is needed. */
#define SEPARATE_SHARE 0.95

/* ---- the index ---- */

/* Shuffles the documents of passes [first, last) together. */
static void order_documents(MegatronGptIndex *index, GRand *rng, int64_t first, int64_t last)
{
    const int64_t n_documents = index->n_documents;
    uint32_t *order = index->order + first * n_documents;
    int64_t n = (last - first) * n_documents;
    for (int64_t i = 0; i < n; i++)
        order[i] = (uint32_t)(i % n_documents);
    numpy_shuffle(rng, order, n, sizeof *order);
}

static void cut_samples(MegatronGptIndex *index, const int32_t *sizes)
{
    int64_t at = 0, offset = 0;
    for (int64_t sample = 0; sample <= index->n_samples; sample++) {
        index->starts[sample] = (uint32_t)at;
        index->offsets[sample] = (int32_t)offset;
        if (sample == index->n_samples)
            break;
        offset += index->seq_length; /* the last token of a sample is also the first of the next one */
        while (offset >= sizes[index->order[at]])
            offset -= sizes[index->order[at++]];
    }
}

static void shuffle_samples(MegatronGptIndex *index, GRand *rng, int64_t first, int64_t last)
{
    for (int64_t i = first; i < last; i++)
        index->shuffle[i] = (uint32_t)i;
    numpy_shuffle(rng, index->shuffle + first, last - first, sizeof *index->shuffle);
}

MegatronGptIndex *megatron_gpt_plan(int64_t tokens, int64_t n_documents, int64_t seq_length, int64_t n_samples,
                                    GError **error)
{
    const int64_t epochs = MAX(1, (n_samples * seq_length + tokens) / tokens),
                  samples = (epochs * tokens - 1) / seq_length, before = ((epochs - 1) * tokens - 1) / seq_length,
                  per_epoch = (tokens - 1) / seq_length;
    if (epochs > UINT32_MAX / n_documents || samples >= UINT32_MAX)
        return fail_user(error,
                         "data.compat=megatron: %" PRId64 " samples are %" PRId64 " passes over %" PRId64
                         " documents; its order holds fewer than 2^32 samples and documents",
                         n_samples, epochs, n_documents);
    MegatronGptIndex *index = g_new(MegatronGptIndex, 1);
    *index = (MegatronGptIndex){ .tokens = tokens,
                                 .n_documents = n_documents,
                                 .seq_length = seq_length,
                                 .n_epochs = epochs,
                                 .n_order = epochs * n_documents,
                                 .n_samples = samples,
                                 .separate_last_epoch =
                                     epochs > 1 && n_samples - before < (int64_t)(SEPARATE_SHARE * (double)per_epoch) };
    return index;
}

void megatron_gpt_order(MegatronGptIndex *index, const int32_t *sizes, uint32_t seed)
{
    g_autoptr(GRand) rng = g_rand_new_with_seed(seed);
    const int64_t joint = index->n_epochs - index->separate_last_epoch,
                  before =
                      index->separate_last_epoch ? (joint * index->tokens - 1) / index->seq_length : index->n_samples;
    index->order = g_new(uint32_t, index->n_order);
    order_documents(index, rng, 0, joint);
    order_documents(index, rng, joint, index->n_epochs);
    index->starts = g_new(uint32_t, index->n_samples + 1);
    index->offsets = g_new(int32_t, index->n_samples + 1);
    cut_samples(index, sizes);
    index->shuffle = g_new(uint32_t, index->n_samples);
    shuffle_samples(index, rng, 0, before);
    shuffle_samples(index, rng, before, index->n_samples);
}

void megatron_gpt_index_free(MegatronGptIndex *index)
{
    g_free(index->order);
    g_free(index->starts);
    g_free(index->offsets);
    g_free(index->shuffle);
    g_free(index);
}

/* ---- samples ---- */

typedef struct MegatronGpt {
    CompatSpec spec;
    MegatronGptIndex *index;
    int32_t *tokens; /* (raw_length) */
} MegatronGpt;

static void *open_gpt(const CompatSpec *spec, int64_t *n_samples, GError **error)
{
    const Indexed *set = spec->data->set;
    MegatronGptIndex *index = megatron_gpt_plan(indexed_tokens(set), indexed_sequences(set),
                                                spec->config->raw_length - 1, spec->n_samples, error);
    if (!index)
        return NULL;
    *n_samples = index->n_samples;
    MegatronGpt *gpt = g_new(MegatronGpt, 1);
    *gpt = (MegatronGpt){ *spec, index, g_new(int32_t, spec->config->raw_length) };
    return gpt;
}

static void close_gpt(void *memory)
{
    MegatronGpt *gpt = memory;
    megatron_gpt_index_free(gpt->index);
    g_free(gpt->tokens);
    g_free(gpt);
}

/* The order takes time and memory, which a plan of a run needs not, so it is made for the first sample. */
static void make_order(MegatronGpt *gpt)
{
    const Indexed *set = gpt->spec.data->set;
    const int64_t n = gpt->index->n_documents;
    g_autofree int32_t *sizes = g_new(int32_t, n);
    for (int64_t i = 0; i < n; i++)
        sizes[i] = indexed_length(set, i);
    megatron_gpt_order(gpt->index, sizes, gpt->spec.seed);
}

/* Every epoch has the same order. */
static bool fill_gpt(void *memory, G_GNUC_UNUSED int64_t epoch, int64_t sample, Example *out, GError **error)
{
    MegatronGpt *gpt = memory;
    const Indexed *set = gpt->spec.data->set;
    if (gpt->index->order == NULL)
        make_order(gpt);
    int64_t number = gpt->index->shuffle[sample], at = gpt->index->starts[number], from = gpt->index->offsets[number];
    int64_t n = gpt->spec.config->raw_length;
    for (int64_t done = 0; done < n; at++, from = 0) {
        uint32_t document = gpt->index->order[at];
        int64_t take = MIN(indexed_length(set, document) - from, n - done);
        if (!dataset_read(gpt->spec.data, document, from, take, gpt->spec.config->vocab, gpt->tokens + done, error))
            return false;
        done += take;
    }
    const Text text = { .tokens = gpt->tokens, .n = n };
    gpt->spec.objective->apply(gpt->spec.config, NULL, NULL, &text, out);
    return true;
}

const CompatKind compat_megatron_gpt = { COMPAT_MEGATRON, "clm", open_gpt, close_gpt, fill_gpt };
