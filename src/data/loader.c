#include "data/loader.h"

#include "base/check.h"
#include "data/loader_state.h"

/* Seed of the order of held-out samples, the same in every run; an arbitrary constant. */
#define HELD_OUT_SEED 0x68656c646f7574u
#define OTHER_TRIES   32 /* attempts to find a chunk of another document that is long enough */

uint64_t loader_order_seed(const Loader *loader)
{
    return loader->held_out ? HELD_OUT_SEED : loader->seed;
}

Choice loader_choose(const Loader *loader, int64_t sample)
{
    Choice choice = { .sample = sample,
                      .rng = philox_open(philox_key(loader->seed, PHILOX_CHOICE, 0), (uint64_t)sample),
                      .pair_rng = philox_open(philox_key(loader->seed, PHILOX_CHOICE, 1), (uint64_t)sample / 2) };
    if (loader->objective->pairs) {
        int64_t first, last;
        indexed_document(loader->data->set, chunks_document(loader->chunks, 0, sample, NULL), &first, &last);
        choice.n_first = indexed_length(loader->data->set, first);
    }
    loader->objective->choose(&loader->config, chunks_length(loader->chunks, sample), &choice);
    return choice;
}

int64_t loader_epoch_packed(const Loader *loader)
{
    return loader->n_packed;
}

/* The mean over the packed sequences of an epoch. */
static double mean_fill(const Loader *loader, double (*fill)(const EpochPlan *))
{
    double taken = 0, all = 0;
    if (loader->mixture == NULL)
        return loader->plan ? fill(loader->plan) : 1;
    for (int i = 0; i < loader->mixture->n; i++) {
        taken += mean_fill(loader->parts[i], fill) * (double)loader->parts[i]->n_packed;
        all += (double)loader->parts[i]->n_packed;
    }
    return taken / all;
}

double loader_fill(const Loader *loader)
{
    return mean_fill(loader, epoch_plan_fill);
}

double loader_input_fill(const Loader *loader)
{
    return mean_fill(loader, epoch_plan_input_fill);
}

const ObjectiveConfig *loader_objective(const Loader *loader)
{
    return &loader->config;
}

int64_t loader_fingerprint(const Loader *loader)
{
    int64_t all = 0;
    if (!loader->mixture)
        return indexed_fingerprint(loader->data->set);
    for (int k = 0; k < loader->mixture->n; k++)
        all ^= (k + 1) * (loader_fingerprint(loader->parts[k]) >> 16);
    return all;
}

/* For labelled data: the number of tokens in the texts of an epoch, without their encoded labels. */
static int64_t count_labelled_tokens(const Loader *loader)
{
    const Indexed *set = loader->data->set;
    int64_t n = 0, first, last;
    for (int64_t document = 0; document < indexed_documents(set); document++) {
        indexed_document(set, document, &first, &last);
        n += indexed_length(set, first);
    }
    return n;
}

int64_t loader_raw_tokens(const Loader *loader)
{
    int64_t all = 0;
    if (!loader->mixture && loader->objective->accepts)
        return count_labelled_tokens(loader);
    if (!loader->mixture)
        return loader->chunks ? chunks_tokens(loader->chunks) : indexed_tokens(loader->data->set);
    for (int k = 0; k < loader->mixture->n; k++)
        all += loader_raw_tokens(loader->parts[k]);
    return all;
}

bool loader_count_labels(const Loader *loader, int64_t *counts, GError **error)
{
    bool good = true;
    for (int k = 0; loader->mixture && k < loader->mixture->n; k++)
        good = good && loader_count_labels(loader->parts[k], counts, error);
    if (loader->mixture)
        return good;
    const Indexed *set = loader->data->set;
    for (int64_t document = 0; document < indexed_documents(set); document++) {
        int64_t first, last;
        indexed_document(set, document, &first, &last);
        const int64_t n = indexed_length(set, first + 1);
        g_autofree int32_t *encoded = g_new(int32_t, (gsize)n);
        if (!indexed_read(set, first + 1, 0, n, encoded, error))
            return false;
        labelled_count((LabelKind)loader->config.label_kind, encoded, n, counts);
    }
    return true;
}

int loader_datasets(const Loader *loader)
{
    return loader->mixture ? loader->mixture->n : 1;
}

LoaderDataset loader_dataset(const Loader *loader, int part)
{
    const Loader *one = loader->mixture ? loader->parts[part] : loader;
    return (LoaderDataset){ .path = loader->mixture ? loader->mixture->paths[part] : one->data->prefix,
                            .share = loader->mixture ? loader->mixture->weights[part] : 1,
                            .packed = one->n_packed,
                            .tokens = loader_raw_tokens(one) };
}

int32_t loader_enc_length(const Loader *loader)
{
    return objective_enc_length(loader->objective, &loader->config);
}

int32_t loader_dec_length(const Loader *loader)
{
    return objective_dec_length(loader->objective, &loader->config);
}

/* Largest number of sequences in one packed sequence. */
static int64_t most_sequences(const Loader *loader)
{
    int64_t most = 1;
    for (int k = 0; loader->mixture && k < loader->mixture->n; k++)
        most = MAX(most, most_sequences(loader->parts[k]));
    if (loader->plan)
        return epoch_plan_max_samples(loader->plan) * MAX(loader->config.max_segments, 1);
    return loader->mixture ? most : MAX(loader->config.max_segments, 1);
}

Batch *loader_batch(const Loader *loader, int32_t n_packed)
{
    return batch_new_packed(n_packed, (int32_t)most_sequences(loader), loader_enc_length(loader),
                            loader_dec_length(loader));
}

/* ---- samples ---- */

/* Appends the sequences of the example. */
static void add_sequences(const Example *example, int64_t sample, Batch *out)
{
    for (int64_t first = 0, end; first < example->n_inputs; first = end) {
        for (end = first + 1; end < example->n_inputs && !example->starts_sequence[end]; end++)
            continue;
        const BatchSequence sequence = { .sample = sample,
                                         .n = end - first,
                                         .ids = example->inputs + first,
                                         .targets = example->targets + first,
                                         .weights = example->weights + first,
                                         .position_ids = example->position_ids + first,
                                         .token_types = example->token_types + first,
                                         .first_dropout_position = (int32_t)first,
                                         .prefix_length = first == 0 ? example->prefix_length : 0,
                                         .label = example->label,
                                         .label_end = example->label_end };
        batch_add_sequence(out, &sequence);
    }
}

/* Appends the example. Dropout masks depend on a sample index that includes the dataset's number, so that it is unique
 * within a mixture if no dataset has more than 2^LOADER_PART_SHIFT samples. */
static void pack_sample(const Loader *loader, int64_t sample, Batch *out)
{
    const Example *example = &loader->example;
    int64_t index = loader->first_sample ^ sample;
    if (loader->objective->streams == STREAMS_BOTH)
        batch_add(out, index, example->inputs, example->n_inputs, example->targets, example->n_targets,
                  loader->decoder_start);
    else
        add_sequences(example, index, out);
}

/* Reads a chunk and the side data that the objective needs. */
static bool read_chunk_text(Loader *loader, int64_t epoch, int64_t chunk, LoaderText *memory, Text *text,
                            GError **error)
{
    int64_t from;
    *text = (Text){ .tokens = memory->tokens, .n = chunks_length(loader->chunks, chunk) };
    if (loader->config.side) {
        int64_t document = chunks_document(loader->chunks, epoch, chunk, &from);
        g_byte_array_set_size(memory->side, 0);
        if (!loader->config.side(loader->data, document, from, text->n, memory->side, error))
            return false;
        text->side = memory->side->data;
        text->side_bytes = memory->side->len;
    }
    return chunks_read(loader->chunks, epoch, chunk, memory->tokens, error);
}

/* A chunk of another document, if possible with at least n tokens: a few tries are made. */
static int64_t draw_other(const Loader *loader, Philox rng, int64_t epoch, int64_t chunk, int64_t n)
{
    int64_t own = chunks_document(loader->chunks, epoch, chunk, NULL), best = -1, longest = 0;
    for (int i = 0; longest < n && (i < OTHER_TRIES || best < 0); i++) {
        int64_t drawn = (int64_t)philox_below(&rng, (uint64_t)chunks_count(loader->chunks));
        int64_t length = chunks_length(loader->chunks, drawn);
        if (length > longest && chunks_document(loader->chunks, epoch, drawn, NULL) != own) {
            best = drawn;
            longest = length;
        }
    }
    return best;
}

/* Appends a sample, numbered over all epochs, to the batch. choice: NULL if the objective draws none in advance. */
static bool apply_sample(Loader *loader, int64_t sample, int64_t epoch, int64_t chunk, const Choice *choice, Batch *out,
                         GError **error)
{
    uint64_t sequence = (uint64_t)(loader->static_masks || loader->held_out ? chunk : sample);
    Philox rng = philox_open(philox_key(loader->seed, PHILOX_OBJECTIVE, 0), sequence);
    Text texts[2] = { 0 };
    if (!read_chunk_text(loader, epoch, chunk, &loader->texts[0], &texts[0], error))
        return false;
    if (choice && choice->other_tokens > 0) {
        Philox others = philox_open(philox_key(loader->seed, PHILOX_OTHER, 0), sequence);
        int64_t other = draw_other(loader, others, epoch, chunk, choice->other_tokens);
        if (!read_chunk_text(loader, epoch, other, &loader->texts[1], &texts[1], error))
            return false;
    }
    loader->objective->apply(&loader->config, choice, &rng, texts, &loader->example);
    pack_sample(loader, sample, out);
    return true;
}

/* Appends the samples of packed sequence `at` of an epoch. order: the epoch whose order of samples is used. */
static bool add_planned(Loader *loader, int64_t epoch, uint64_t order, int64_t at, Batch *out, GError **error)
{
    const int64_t n_chunks = chunks_count(loader->chunks);
    const PackedSamples packed = epoch_plan_get(loader->plan, order, at);
    bool good = true;
    for (int64_t i = 0; good && i < packed.n; i++) {
        int64_t chunk = packed.samples[i];
        Choice choice = loader_choose(loader, chunk);
        good = apply_sample(loader, epoch * n_chunks + chunk, epoch, chunk, &choice, out, error);
    }
    return good;
}

/* Appends packed sequence i of the run. */
static bool add_packed(Loader *loader, int64_t i, Batch *out, GError **error)
{
    if (loader->mixture) {
        int64_t within;
        int k = mixture_at(loader->mixture, i, &within);
        return add_packed(loader->parts[k], within, out, error);
    }
    int64_t epoch = loader->held_out ? 0 : i / loader->n_packed, at = i % loader->n_packed;
    if (loader->compat) {
        bool good = loader->compat->fill(loader->index, epoch, at, &loader->example, error);
        if (good)
            pack_sample(loader, i, out);
        return good;
    }
    uint64_t order = loader->fixed_order ? 0 : (uint64_t)epoch;
    if (loader->plan)
        return add_planned(loader, epoch, order, at, out, error);
    PhiloxKey key = philox_key(loader_order_seed(loader), PHILOX_SAMPLE_ORDER, 0);
    at = (int64_t)philox_permute(key, order, (uint64_t)at, (uint64_t)loader->n_packed);
    return apply_sample(loader, i, epoch, at, NULL, out, error);
}

bool loader_get(Loader *loader, int64_t first, int64_t n, Batch *out, GError **error)
{
    CHECK(first >= 0 && n >= 0, "packed sequences %ld + %ld", first, n);
    bool good = true;
    batch_clear(out);
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&loader->mutex);
    for (int64_t i = 0; good && i < n; i++)
        good = add_packed(loader, first + i, out, error);
    return good;
}
