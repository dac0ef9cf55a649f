/* loader_open.c: opens a loader for the datasets of a configuration. */
#include "base/text.h"
#include "data/loader.h"
#include "data/loader_state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define COMPAT_SURPLUS 1.005

/* Whether the labels of a dataset are those that the objective and the classifier learn. A dataset whose PREFIX.json
 * names none is judged by its encoded labels (check_encoded). */
static bool check_labels(const Dataset *data, const DataConfig *config, GError **error)
{
    const LabelKind kind = data->meta.label_kind, wanted = (LabelKind)config->label_kind;
    const Objective *objective = data_objective_row(config);
    g_autofree char *labels = dataset_meta_labels(&data->meta);
    if (kind == LABELS_NONE)
        return true;
    if (objective->accepts == NULL)
        return fail_user(error, "the dataset %s holds %s, which data.objective=%s does not read: data.objective=labels",
                         data->prefix, labels, objective->name);
    if (kind != wanted)
        return fail_user(error, "the dataset %s holds %s, and the model has model.classifier=%s", data->prefix, labels,
                         label_kind_names[wanted]);
    return !labels_have_names(kind) || g_strcmp0(data->meta.labels, config->labels) == 0 ||
           fail_user(error,
                     "the dataset %s holds %s, and the model has the classes %s (model.labels), in this order: prepare "
                     "it for this model (loam task prepare train.init=MODEL), or give the model its names",
                     data->prefix, labels, config->labels);
}

static bool check_dataset(const Dataset *data, const Tokenizer *tok, GError **error)
{
    g_autofree char *tokenizer = text_shell_word(tokenizer_path(tok)), *prefix = text_shell_word(data->prefix);
    if (data->meta.tokenizer_hash && strcmp(data->meta.tokenizer_hash, tokenizer_hash(tok)) != 0)
        return fail_user(error,
                         "the dataset %s was made with another tokenizer (hash %s) than %s (hash %s); make it again: "
                         "loam prepare --tokenizer %s --out %s CORPUS",
                         data->prefix, data->meta.tokenizer_hash, tokenizer_path(tok), tokenizer_hash(tok), tokenizer,
                         prefix);
    if (indexed_tokens(data->set) == 0)
        return fail_user(error, "the dataset %s is empty: it holds no token", data->prefix);
    if (indexed_documents(data->set) > UINT32_MAX)
        return fail_user(error, "the dataset %s has more than %u documents; split it", data->prefix, UINT32_MAX);
    dataset_report_unknown(&data->meta, data->prefix);
    return true;
}

/* Finds the sentinels: as many, from the first one on, as have consecutive ids, rising or falling. */
static void find_sentinels(const Tokenizer *tok, ObjectiveConfig *config)
{
    int32_t first = tokenizer_sentinel(tok, 0), n = 0;
    config->first_sentinel = first;
    config->sentinels_rise = first >= 0 && tokenizer_sentinel(tok, 1) > first;
    while (n < tokenizer_sentinels(tok) && tokenizer_sentinel(tok, n) == objective_sentinel(config, n))
        n++;
    config->n_sentinels = n;
}

/* (vocab) Whether a piece continues the word before it: it has no "▁" (SentencePiece) or "Ġ" (byte-level BPE) at its
 * start, where a tokenizer has such pieces; otherwise it has "##" (WordPiece) there. */
static bool *find_continuations(const Tokenizer *tok)
{
    int size = tokenizer_size(tok);
    bool *continues = g_new0(bool, size), marks = false;
    for (int id = 0; id < size; id++)
        marks |= g_str_has_prefix(tokenizer_piece(tok, id), "▁") || g_str_has_prefix(tokenizer_piece(tok, id), "Ġ");
    for (int id = 0; id < size; id++) {
        const char *piece = tokenizer_piece(tok, id);
        continues[id] =
            marks ? !g_str_has_prefix(piece, "▁") && !g_str_has_prefix(piece, "Ġ") : g_str_has_prefix(piece, "##");
    }
    return continues;
}

static bool find_specials(Loader *loader, const Tokenizer *tok, GError **error)
{
    ObjectiveConfig *config = &loader->config;
    config->mask = tokenizer_encoder_role(tok, ROLE_MASK);
    config->sep = tokenizer_encoder_role(tok, ROLE_SEP);
    config->cls = tokenizer_encoder_role(tok, ROLE_CLS);
    config->continues = loader->continues = find_continuations(tok);
    config->piece_starts = loader->piece_starts = piece_starts(tok);
    return (config->mask >= 0 && config->sep >= 0) ||
           fail_user(
               error,
               "the tokenizer %s has no piece to hide words behind ([MASK], <mask> or a sentinel) and to end a "
               "text with ([SEP] or </s>), which data.objective=mlm needs; loam tokenizer train --for bert makes one "
               "that has",
               tokenizer_path(tok));
}

/* Fails if options of mlm are set for another objective. */
static bool check_pairs(const MlmSettings *settings, const char *objective, GError **error)
{
    if (settings->sentence_pairs != PAIRS_NONE)
        return fail_user(error, "data.sentence_pairs=%s is for data.objective=mlm, not %s; leave it out",
                         sentence_pairs_names[settings->sentence_pairs], objective);
    return settings->short_sequence_probability == 0 ||
           fail_user(error, "data.short_sequence_probability=%g is for data.objective=mlm, not %s; leave it out",
                     settings->short_sequence_probability, objective);
}

static bool plan_objective(Loader *loader, const DataConfig *data, const Tokenizer *tok, GError **error)
{
    ObjectiveConfig *config = &loader->config;
    loader->objective = data_objective_row(data);
    *config = data_objective(data);
    config->eos = tokenizer_eos(tok);
    config->target_end = MAX(tokenizer_target_end(tok), 0);
    find_sentinels(tok, config);
    config->vocab = tokenizer_size(tok);
    config->n_appended = tokenizer_appended(tok);
    bool in_place = loader->objective->streams == STREAMS_ENCODER;
    bool hides = in_place && !loader->objective->pairs;
    if (hides ? !find_specials(loader, tok, error) : !check_pairs(&data->settings.mlm, loader->objective->name, error))
        return false;
    if (!in_place && tokenizer_eos(tok) < 0)
        return fail_user(error, "the tokenizer %s has no end-of-sequence token, which data.objective=%s needs",
                         tokenizer_path(tok), loader->objective->name);
    return loader->objective->plan(config, error);
}

/* An objective that uses text of other documents needs a dataset with two documents. */
static bool check_documents(const Loader *loader, GError **error)
{
    int64_t first = chunks_document(loader->chunks, 0, 0, NULL);
    for (int64_t chunk = chunks_count(loader->chunks) - 1; chunk > 0; chunk--)
        if (chunks_document(loader->chunks, 0, chunk, NULL) != first)
            return true;
    return fail_user(error, "the dataset %s is one document; data.sentence_pairs=next takes text from others",
                     loader->data->prefix);
}

/* Whether the objective accepts this text with its encoded labels. */
static bool check_encoded(const Loader *loader, int64_t document, int64_t first, GError **error)
{
    const Indexed *set = loader->data->set;
    int64_t n_text = indexed_length(set, first), n = indexed_length(set, first + 1);
    g_autofree int32_t *encoded = g_new(int32_t, (gsize)n);
    if (!indexed_read(set, first + 1, 0, n, encoded, error))
        return false;
    if (n_text > loader->config.input_length)
        return fail_user(error,
                         "the dataset %s has a text of %" PRId64 " tokens (document %" PRId64
                         "), more than data.input_length=%" PRId64 ": prepare it for this length",
                         loader->data->prefix, n_text, document, loader->config.input_length);
    return loader->objective->accepts(&loader->config, n_text, encoded, n) ||
           fail_user(error,
                     "the dataset %s, document %" PRId64 ": no text with labels for model.classifier=%s of %" PRId64
                     " classes: make it again, with task.data or loam task prepare",
                     loader->data->prefix, document, label_kind_names[loader->config.label_kind],
                     loader->config.n_labels);
}

/* Fails unless every document of a dataset of pairs consists of an input and a target that are not too long. */
static bool check_pair_lengths(const Loader *loader, GError **error)
{
    const ObjectiveConfig *config = &loader->config;
    const Indexed *set = loader->data->set;
    bool alone = loader->objective->streams == STREAMS_DECODER;
    int64_t first, last;
    for (int64_t document = 0; document < indexed_documents(set); document++) {
        indexed_document(set, document, &first, &last);
        if (last - first != 2)
            return fail_user(
                error,
                "the dataset %s holds no pairs of input and target, which data.objective=%s takes: set task.data, "
                "or make it with loam task prepare",
                loader->data->prefix, loader->objective->name);
        int64_t input = indexed_length(set, first), target = indexed_length(set, first + 1);
        if (loader->objective->accepts) {
            if (!check_encoded(loader, document, first, error))
                return false;
            continue;
        }
        if (alone ? input + target > config->input_length
                  : input >= config->input_length || target >= config->target_length)
            return fail_user(error,
                             "the dataset %s has an input of %" PRId64 " and a target of %" PRId64
                             " tokens (document %" PRId64 "), more than data.input_length=%" PRId64
                             " and data.target_length=%" PRId64 " take with their EOS: prepare it for these lengths",
                             loader->data->prefix, input, target, document, config->input_length,
                             config->target_length);
    }
    return true;
}

static bool open_chunks(Loader *loader, GError **error)
{
    if (loader->objective->pairs && !check_pair_lengths(loader, error))
        return false;
    const Objective *objective = loader->objective;
    const ChunksSpec spec = { .text = objective->text,
                              .raw_length = loader->config.raw_length,
                              .overlap = objective->overlap,
                              .min_length = objective->min_length,
                              .vocab = loader->config.vocab,
                              .separator =
                                  objective->separated && !loader->data->meta.append_eod ? loader->config.eos : -1,
                              .without_end = objective->ends_itself && loader->data->meta.append_eod,
                              .seed = loader->seed,
                              .in_order = loader->held_out || loader->fixed_order || loader->static_masks,
                              .cut = loader->config.packed_samples > 0 ? objective->cut : NULL,
                              .config = &loader->config };
    loader->chunks = chunks_open(loader->data, &spec);
    if (chunks_count(loader->chunks) == 0)
        return fail_user(error, "the dataset %s has no text of %ld tokens or more, which data.objective=%s needs",
                         loader->data->prefix, objective->min_length, objective->name);
    if (objective->choose && chunks_count(loader->chunks) > UINT32_MAX)
        return fail_user(error, "the dataset %s makes more than %u samples; split it", loader->data->prefix,
                         UINT32_MAX);
    return !loader->config.takes_others || check_documents(loader, error);
}

/* Opens the data in another program's order (data.compat). Seeds must fit 32 bits, as in numpy. */
static bool open_compat(Loader *loader, const DataConfig *data, GError **error)
{
    if (loader->seed > UINT32_MAX)
        return fail_user(error, "run.seed=%" PRIu64 ": data.compat=%s draws by a seed below 2^32", loader->seed,
                         compat_names[data->compat]);
    if (loader->objective->separated && loader->data->meta.tokenizer_hash && !loader->data->meta.append_eod)
        return fail_user(
            error,
            "the dataset %s has nothing between its documents, which data.compat=%s takes as they are; make "
            "it again: loam prepare --append-eod",
            loader->data->prefix, compat_names[data->compat]);
    const CompatSpec spec = { .data = loader->data,
                              .objective = loader->objective,
                              .config = &loader->config,
                              .seed = (uint32_t)loader->seed,
                              .n_samples = loader->held_out ? 0 : data->compat_samples,
                              .break_mode = (BreakMode)data->break_mode,
                              .batch = data->compat_batch,
                              .held_out = loader->held_out };
    const CompatKind *kind = compat_find((Compat)data->compat, loader->objective->name, error);
    if (!kind || !(loader->index = kind->open(&spec, &loader->n_packed, error)))
        return false;
    loader->compat = kind;
    return loader->n_packed > 0 ||
           fail_user(error, "the dataset %s has too little text for one sample of %" PRId64 " tokens",
                     loader->data->prefix, loader->config.raw_length);
}

/* ---- packing ---- */

static PackLength sample_length(const void *context, int64_t sample)
{
    Choice choice = loader_choose(context, sample);
    return (PackLength){ choice.n_inputs + ((const Loader *)context)->config.memory_tokens, choice.n_targets };
}

static bool plan_epoch(Loader *loader, const DataConfig *config, GError **error)
{
    if (!open_chunks(loader, error))
        return false;
    int64_t n = chunks_count(loader->chunks);
    loader->n_packed = n;
    if (loader->objective->choose) {
        const EpochPlanSpec spec = { .n_samples = n,
                                     .n_group = config->packed ? loader->config.packed_samples : 1,
                                     .capacity = { loader_enc_length(loader) + loader->config.memory_tokens,
                                                   loader_dec_length(loader) },
                                     .length = sample_length,
                                     .context = loader,
                                     .seed = loader_order_seed(loader),
                                     .whole = config->plan == PLAN_WHOLE };
        loader->plan = epoch_plan_open(&spec);
        loader->n_packed = epoch_plan_packed(loader->plan);
    }
    return true;
}

static Loader *open_one(const DataConfig *config, const char *prefix, const Tokenizer *tok, uint64_t seed,
                        bool held_out, GError **error)
{
    Loader *loader = g_new0(Loader, 1);
    loader->users = 1;
    g_mutex_init(&loader->mutex);
    loader->seed = seed;
    loader->held_out = held_out;
    loader->static_masks = config->static_masks;
    loader->fixed_order = config->mixture.weights == MIXTURE_CONCAT_WEIGHTED;
    loader->decoder_start = MAX(tokenizer_pad(tok), 0);
    loader->data = dataset_open(prefix, error);
    if (!loader->data || !check_dataset(loader->data, tok, error) || !check_labels(loader->data, config, error) ||
        !plan_objective(loader, config, tok, error) ||
        !(config->compat ? open_compat(loader, config, error) : plan_epoch(loader, config, error))) {
        loader_close(loader);
        return NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(loader->texts); i++)
        loader->texts[i] = (LoaderText){ g_new(int32_t, loader->config.raw_length), g_byte_array_new() };
    example_init(&loader->example, &loader->config);
    return loader;
}

static void weigh_parts(Loader *loader, const MixtureRule *rule)
{
    int64_t packed[MIXTURE_MAX], tokens[MIXTURE_MAX];
    for (int k = 0; k < loader->mixture->n; k++) {
        packed[k] = loader->parts[k]->n_packed;
        tokens[k] = loader_raw_tokens(loader->parts[k]);
    }
    loader->n_packed = mixture_weigh(loader->mixture, rule, packed, tokens);
}

/* Opens the datasets of a mixture. Each has its own seed, derived from the run's. With data.compat all use the run's
 * seed, and 0.5 % more samples than a dataset's share are planned, as in Megatron. */
static bool open_parts(Loader *loader, const DataConfig *config, const Tokenizer *tok, uint64_t seed, bool held_out,
                       GError **error)
{
    const Mixture *mixture = loader->mixture;
    if (config->compat == COMPAT_MEGATRON && !mixture->weighted)
        return fail_user(error, "data.compat=megatron needs data.train with weights: PREFIX:WEIGHT,PREFIX:WEIGHT");
    for (int k = 0; k < mixture->n; k++) {
        PhiloxKey key = philox_key(seed, PHILOX_MIXTURE, (uint32_t)k);
        uint64_t own = config->compat ? seed : (uint64_t)key.k[1] << 32 | key.k[0];
        DataConfig part = *config;
        part.compat_samples = (int64_t)ceil((double)config->compat_samples * mixture->weights[k] * COMPAT_SURPLUS);
        if (!(loader->parts[k] = open_one(&part, mixture->paths[k], tok, own, held_out, error)))
            return false;
        loader->parts[k]->first_sample = (int64_t)k << LOADER_PART_SHIFT;
    }
    loader->objective = loader->parts[0]->objective;
    loader->config = loader->parts[0]->config;
    weigh_parts(loader, &config->mixture);
    return true;
}

Loader *loader_open(const DataConfig *config, const char *prefix, const Tokenizer *tok, uint64_t seed, bool held_out,
                    GError **error)
{
    g_autoptr(Mixture) mixture = mixture_parse(prefix, error);
    if (!mixture)
        return NULL;
    if (mixture->n == 1)
        return open_one(config, mixture->paths[0], tok, seed, held_out, error);
    Loader *loader = g_new0(Loader, 1);
    loader->users = 1;
    g_mutex_init(&loader->mutex);
    loader->mixture = g_steal_pointer(&mixture);
    if (!open_parts(loader, config, tok, seed, held_out, error))
        g_clear_pointer(&loader, loader_close);
    return loader;
}

Loader *loader_share(Loader *loader)
{
    g_atomic_int_inc(&loader->users);
    return loader;
}

void loader_start_decoder(Loader *loader, int32_t id)
{
    g_mutex_lock(&loader->mutex);
    loader->decoder_start = id;
    g_mutex_unlock(&loader->mutex);
    for (int k = 0; loader->mixture && k < loader->mixture->n; k++)
        loader_start_decoder(loader->parts[k], id);
}

void loader_close(Loader *loader)
{
    if (!loader || !g_atomic_int_dec_and_test(&loader->users))
        return;
    for (int k = 0; loader->mixture && k < loader->mixture->n; k++)
        loader_close(loader->parts[k]);
    g_clear_pointer(&loader->mixture, mixture_free);
    example_clear(&loader->example);
    for (size_t i = 0; i < G_N_ELEMENTS(loader->texts); i++) {
        g_free(loader->texts[i].tokens);
        g_clear_pointer(&loader->texts[i].side, g_byte_array_unref);
    }
    g_free(loader->continues);
    g_free(loader->piece_starts);
    epoch_plan_close(loader->plan);
    if (loader->compat)
        loader->compat->close(loader->index);
    chunks_close(loader->chunks);
    dataset_close(loader->data);
    g_mutex_clear(&loader->mutex);
    g_free(loader);
}
