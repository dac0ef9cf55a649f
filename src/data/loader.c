#include "data/loader.h"

#include "base/check.h"
#include "data/loader_state.h"

#define HELD_OUT_SEED 0x68656c646f7574u /* any constant */
#define OTHER_TRIES   32                /* for a text of another document that is long enough */

Choice loader_choose(const Loader *loader, int64_t sample)
{
    Choice choice = { .sample = sample,
                      .rng = philox_open(philox_key(loader->seed, PHILOX_CHOICE, 0), (uint64_t)sample),
                      .pair = philox_open(philox_key(loader->seed, PHILOX_CHOICE, 1), (uint64_t)sample / 2) };
    loader->objective->choose(&loader->config, pieces_length(loader->pieces, sample), &choice);
    return choice;
}

int64_t loader_epoch_samples(const Loader *loader, G_GNUC_UNUSED int64_t epoch)
{
    return loader->n_rows;
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

int64_t loader_raw_tokens(const Loader *loader)
{
    int64_t all = 0;
    if (!loader->mixture)
        return loader->pieces ? pieces_tokens(loader->pieces) : indexed_tokens(loader->data->set);
    for (int k = 0; k < loader->mixture->n; k++)
        all += loader_raw_tokens(loader->parts[k]);
    return all;
}

int loader_parts(const Loader *loader)
{
    return loader->mixture ? loader->mixture->n : 1;
}

LoaderPart loader_part(const Loader *loader, int part)
{
    const Loader *one = loader->mixture ? loader->parts[part] : loader;
    return (LoaderPart){ .prefix = loader->mixture ? loader->mixture->paths[part] : one->data->prefix,
                         .share = loader->mixture ? loader->mixture->weights[part] : 1,
                         .rows = one->n_rows,
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

static int64_t row_samples(const Loader *loader)
{
    int64_t most = 1;
    for (int k = 0; loader->mixture && k < loader->mixture->n; k++)
        most = MAX(most, row_samples(loader->parts[k]));
    if (loader->plan)
        return loader->plan->max_samples;
    return loader->config.reset_attention ? loader->config.input_length : most;
}

Batch *loader_batch(const Loader *loader, int32_t rows)
{
    int64_t per_row = row_samples(loader);
    return batch_new_packed(rows, (int32_t)per_row, loader_enc_length(loader), loader_dec_length(loader));
}

/* ---- samples ---- */

/* What dropout masks depend on: unlike the number of the sample, unique in a mixture, up to 2^LOADER_PART_SHIFT of
 * each. */
static int64_t sample_index(const Loader *loader, int64_t sample)
{
    return loader->first_sample ^ sample;
}

/* A sequence for each document that attention ends with. */
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
                                         .label = example->label };
        batch_add_sequence(out, &sequence);
    }
}

static void add_example(const Loader *loader, int64_t sample, Batch *out)
{
    const Example *example = &loader->example;
    if (loader->objective->streams == STREAMS_BOTH)
        batch_add(out, sample_index(loader, sample), example->inputs, example->n_inputs, example->targets,
                  example->n_targets, loader->decoder_start);
    else
        add_sequences(example, sample_index(loader, sample), out);
}

static bool read_text(Loader *loader, int64_t epoch, int64_t piece, int32_t *tokens, int64_t *sentences, Text *text,
                      GError **error)
{
    *text = (Text){ .tokens = tokens, .n = pieces_length(loader->pieces, piece), .sentences = sentences };
    if (sentences)
        text->n_sentences = pieces_sentences(loader->pieces, epoch, piece, sentences);
    return pieces_read(loader->pieces, epoch, piece, tokens, error);
}

/* A piece of another document, of n tokens where a few tries find such a one. */
static int64_t draw_other(const Loader *loader, Philox rng, int64_t epoch, int64_t piece, int64_t n)
{
    int64_t own = pieces_document(loader->pieces, epoch, piece), best = -1, longest = 0;
    for (int i = 0; longest < n && (i < OTHER_TRIES || best < 0); i++) {
        int64_t drawn = (int64_t)philox_below(&rng, (uint64_t)pieces_count(loader->pieces));
        int64_t length = pieces_length(loader->pieces, drawn);
        if (length > longest && pieces_document(loader->pieces, epoch, drawn) != own) {
            best = drawn;
            longest = length;
        }
    }
    return best;
}

/* `sample` is the global index; `choice` is NULL where the objective makes none. */
static bool add_sample(Loader *loader, int64_t sample, int64_t epoch, int64_t piece, Choice *choice, Batch *out,
                       GError **error)
{
    uint64_t stream = (uint64_t)(loader->static_masks || loader->held_out ? piece : sample);
    Philox rng = philox_open(philox_key(loader->seed, PHILOX_OBJECTIVE, 0), stream);
    Text text;
    if (!read_text(loader, epoch, piece, loader->tokens, loader->sentences, &text, error))
        return false;
    if (choice)
        choice->text = text;
    if (choice && choice->strange) {
        Philox others = philox_open(philox_key(loader->seed, PHILOX_OTHER, 0), stream);
        int64_t other = draw_other(loader, others, epoch, piece, choice->n_text - choice->cut);
        if (!read_text(loader, epoch, other, loader->other, loader->other_sentences, &choice->other, error))
            return false;
    }
    loader->objective->apply(&loader->config, choice, &rng, text.tokens, text.n, &loader->example);
    add_example(loader, sample, out);
    return true;
}

static bool add_packed_row(Loader *loader, int64_t epoch, int64_t place, Batch *out, GError **error)
{
    const PackPlan *plan = loader->plan;
    bool good = true;
    for (int64_t i = plan->starts[place]; good && i < plan->starts[place + 1]; i++) {
        int64_t piece = plan->samples[i];
        Choice choice = loader_choose(loader, piece);
        good = add_sample(loader, epoch * plan->n_samples + piece, epoch, piece, &choice, out, error);
    }
    return good;
}

/* Held-out rows are drawn alike whatever the run's seed, so that the first n of them, a sample of the whole dataset,
 * are the same in every run. */
static uint64_t order_seed(const Loader *loader)
{
    return loader->held_out ? HELD_OUT_SEED : loader->seed;
}

static bool add_row(Loader *loader, int64_t row, Batch *out, GError **error)
{
    if (loader->mixture) {
        int64_t within;
        int k = mixture_at(loader->mixture, row, &within);
        return add_row(loader->parts[k], within, out, error);
    }
    int64_t epoch = loader->held_out ? 0 : row / loader->n_rows, place = row % loader->n_rows;
    if (loader->compat) {
        bool good = loader->compat->fill(loader->index, epoch, place, &loader->example, error);
        if (good)
            add_example(loader, row, out);
        return good;
    }
    place = (int64_t)philox_permute(philox_key(order_seed(loader), PHILOX_SAMPLE_ORDER, 0), (uint64_t)epoch,
                                    (uint64_t)place, (uint64_t)loader->n_rows);
    if (loader->plan)
        return add_packed_row(loader, epoch, place, out, error);
    return add_sample(loader, row, epoch, place, NULL, out, error);
}

bool loader_get(Loader *loader, int64_t first, int64_t n, Batch *out, GError **error)
{
    CHECK(first >= 0 && n >= 0, "rows %ld + %ld", first, n);
    bool good = true;
    batch_clear(out);
    g_mutex_lock(&loader->mutex);
    for (int64_t i = 0; good && i < n; i++)
        good = add_row(loader, first + i, out, error);
    g_mutex_unlock(&loader->mutex);
    return good;
}
