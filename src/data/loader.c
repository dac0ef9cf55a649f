#include "data/loader.h"

#include "base/check.h"
#include "data/pack.h"
#include "data/pieces.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define COMPAT_SURPLUS 1.005
#define OTHER_TRIES    32 /* for a text of another document that is long enough */

static const char *const train_keys[] = { "path", "weight?", NULL }, *const valid_keys[] = { "name?", "path", NULL };

#define AT(field) offsetof(DataConfig, field)
const OptionRow data_options[] = {
    { "data.train", OPT_LIST, AT(train), "", 0, 0, OPT_IDENTITY,
      "token dataset to train on: PREFIX of loam prepare, or several: PREFIX,PREFIX or PREFIX:WEIGHT,PREFIX:WEIGHT",
      train_keys },
    { "data.valid", OPT_LIST, AT(valid), "", 0, 0, OPT_TUNABLE,
      "held-out token dataset, or several: NAME:PREFIX,NAME:PREFIX; empty: none", valid_keys },
    { "data.split", OPT_STRING, AT(split), "", 0, 0, OPT_IDENTITY,
      "shares of the documents of data.train, such as 949,50,1: to train on, to validate on where data.valid is empty, "
      "and to leave alone",
      NULL },
    { "data.mixture_weights", OPT_ENUM, AT(mixture.weights), "shares", 0, 0, OPT_IDENTITY,
      "what the weights of data.train are: shares of the samples, or epochs of each dataset in one of the mixture",
      mixture_weights_names },
    { "data.mixture_temperature", OPT_F64, AT(mixture.temperature), "1", 0.01, 1e6, OPT_IDENTITY,
      "without weights a dataset's share is in proportion to its size ^ (1 / this)", NULL },
    { "data.mixture_cap", OPT_AMOUNT, AT(mixture.cap), "0 samples", 0, 1e18, OPT_IDENTITY,
      "samples or tokens that count at most of a dataset's size; 0: all", NULL },
    { "data.objective", OPT_ENUM, AT(objective), "span_corruption", 0, 0, OPT_IDENTITY,
      "what the model is asked to predict", objective_names },
    { "data.compat", OPT_ENUM, AT(compat), "none", 0, 0, OPT_IDENTITY,
      "take the samples of this system, in its order, each in a row of its own", compat_names },
    { "data.compat_samples", OPT_I64, AT(compat_samples), "auto", 0, 1e12, OPT_IDENTITY,
      "samples that the order is made for; auto: those of train.length (megatron), or one pass (t5_experiments)",
      NULL },
    { "data.compat_batch", OPT_AMOUNT, AT(compat_batch), "0 samples", 0, 1e9, OPT_IDENTITY,
      "fairseq: samples or tokens that are shuffled as one; 0: train.micro_batch", NULL },
    { "data.break_mode", OPT_ENUM, AT(break_mode), "none", 0, 0, OPT_IDENTITY,
      "fairseq: where the text is cut: anywhere, between lines, between lines and documents, after every line",
      break_mode_names },
    { "data.input_length", OPT_I64, AT(input_length), "512", 2, 1e6, OPT_IDENTITY,
      "tokens of an input at most, EOS included", NULL },
    { "data.target_length", OPT_I64, AT(target_length), "0", 0, 1e6, OPT_IDENTITY,
      "tokens of a target at most, EOS included; 0: what the objective needs", NULL },
    { "data.raw_length", OPT_I64, AT(raw_length), "0", 0, 1e6, OPT_IDENTITY,
      "tokens of text that a sample takes at most; 0: what fills data.input_length", NULL },
    { "data.noise_density", OPT_F64, AT(noise_density), "0.15", 0.001, 0.999, OPT_IDENTITY,
      "share of the text that is masked", NULL },
    { "data.mean_span_length", OPT_F64, AT(mean_span_length), "3", 1, 1e4, OPT_IDENTITY,
      "tokens of a masked span on average", NULL },
    { "data.reset_attention", OPT_BOOL, AT(reset_attention), "false", 0, 0, OPT_IDENTITY,
      "clm: a document does not see the one before it", NULL },
    { "data.reset_position", OPT_BOOL, AT(reset_position), "false", 0, 0, OPT_IDENTITY,
      "clm: positions start again with every document", NULL },
    { "data.mask_eod", OPT_BOOL, AT(mask_eod), "false", 0, 0, OPT_IDENTITY,
      "clm: no loss where the input is the end of a document", NULL },
    { "data.whole_word", OPT_BOOL, AT(whole_word), "true", 0, 0, OPT_IDENTITY,
      "mlm: the pieces of a word are masked together", NULL },
    { "data.max_ngram", OPT_I64, AT(max_ngram), "1", 1, 100, OPT_IDENTITY,
      "mlm: words masked together at most; n with a probability in proportion to 1/n", NULL },
    { "data.sentence_pairs", OPT_ENUM, AT(sentence_pairs), "none", 0, 0, OPT_IDENTITY,
      "mlm: samples are two parts of a text with a label: half of the time swapped (order), or the second one from "
      "another document (next)",
      sentence_pairs_names },
    { "data.short_sequence_probability", OPT_F64, AT(short_sequence_probability), "0", 0, 1, OPT_IDENTITY,
      "mlm: share of samples that are cut to a random length; BERT: 0.1", NULL },
    { "data.static_masks", OPT_BOOL, AT(static_masks), "false", 0, 0, OPT_IDENTITY,
      "mlm: the same masks in every epoch", NULL },
};
#undef AT
const int n_data_options = G_N_ELEMENTS(data_options);

const Objective *data_objective_row(const DataConfig *config)
{
    return objective_for(config->objective, config->decoder_alone);
}

ObjectiveConfig data_objective(const DataConfig *config)
{
    return (ObjectiveConfig){ .input_length = config->input_length,
                              .target_length = config->target_length,
                              .raw_length = config->raw_length,
                              .memory_rows = config->memory_rows,
                              .noise_density = config->noise_density,
                              .mean_span_length = config->mean_span_length,
                              .reset_attention = config->reset_attention,
                              .reset_position = config->reset_position,
                              .mask_eod = config->mask_eod,
                              .whole_word = config->whole_word,
                              .sentence_pairs = config->sentence_pairs,
                              .short_sequence_probability = config->short_sequence_probability,
                              .max_ngram = config->max_ngram };
}

#define PART_SHIFT 40 /* sample numbers stay below 2^48, as philox_attention wants them */

struct Loader {
    Mixture *mixture; /* NULL: one dataset; else the rows are those of the parts, whose form is the first one's */
    Loader *parts[MIXTURE_MAX];

    Dataset *data;
    Pieces *pieces;
    int32_t decoder_start;
    uint64_t seed;
    int64_t first_sample; /* of a mixture: the dataset's number above bit PART_SHIFT; no two share dropout masks */
    bool in_order, static_masks;
    int64_t memory_rows;
    const Objective *objective;
    ObjectiveConfig config;
    bool *continues;          /* (vocab) or NULL */
    PackPlan *plan;           /* NULL: a row is a sample */
    const CompatKind *compat; /* NULL: pieces; else an index instead of them */
    void *index;
    int64_t n_rows; /* of an epoch */

    GMutex mutex;                         /* guards what follows, pieces and mixture */
    int32_t *tokens, *other;              /* (raw_length) */
    int64_t *sentences, *other_sentences; /* (raw_length); NULL where sentences do not matter */
    Example example;
};

/* ---- opening ---- */

static bool check_dataset(const Dataset *data, const Tokenizer *tok, GError **error)
{
    if (data->tokenizer_hash && strcmp(data->tokenizer_hash, tokenizer_hash(tok)) != 0)
        return fail_user(error,
                         "the dataset %s was made with another tokenizer (hash %s) than %s (hash %s); make it again: "
                         "loam prepare --tokenizer %s --out %s CORPUS",
                         data->prefix, data->tokenizer_hash, tokenizer_path(tok), tokenizer_hash(tok),
                         tokenizer_path(tok), data->prefix);
    if (indexed_tokens(data->set) == 0)
        return fail_user(error, "the dataset %s is empty: it holds no token", data->prefix);
    if (indexed_documents(data->set) > UINT32_MAX)
        return fail_user(error, "the dataset %s has more than %u documents; split it", data->prefix, UINT32_MAX);
    return true;
}

/* Sentinels with ids that fall or rise one by one from that of <extra_id_0>. */
static void find_sentinels(const Tokenizer *tok, ObjectiveConfig *config)
{
    int32_t first = tokenizer_sentinel(tok, 0), n = 0;
    config->first_sentinel = first;
    config->sentinels_rise = first >= 0 && tokenizer_sentinel(tok, 1) > first;
    while (n < TOKENIZER_SENTINELS && first >= 0 && tokenizer_sentinel(tok, n) == objective_sentinel(config, n))
        n++;
    config->n_sentinels = n;
}

/* The first of these pieces that the tokenizer has, or `otherwise`. */
static int32_t find_piece(const Tokenizer *tok, const char *const *names, int32_t otherwise)
{
    for (; *names; names++)
        for (int id = 0; id < tokenizer_size(tok); id++)
            if (strcmp(tokenizer_piece(tok, id), *names) == 0)
                return id;
    return otherwise;
}

/* A word begins with "▁" (SentencePiece) or "Ġ" (byte-level BPE) where a tokenizer has such pieces; else "##" continues
 * one (WordPiece). */
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
    static const char *const cls[] = { "[CLS]", "<s>", "<cls>", NULL }, *const sep[] = { "[SEP]", "</s>", NULL },
                             *const mask[] = { "[MASK]", "<mask>", NULL };
    ObjectiveConfig *config = &loader->config;
    config->mask = find_piece(tok, mask, config->first_sentinel);
    config->sep = find_piece(tok, sep, config->eos);
    config->cls = find_piece(tok, cls, config->sep);
    config->continues = loader->continues = find_continuations(tok);
    return (config->mask >= 0 && config->sep >= 0) ||
           fail_user(error,
                     "the tokenizer %s has no piece to hide words behind ([MASK], <mask> or a sentinel) and to end a "
                     "text with ([SEP] or </s>), which data.objective=mlm needs",
                     tokenizer_path(tok));
}

static bool plan_objective(Loader *loader, const DataConfig *data, const Tokenizer *tok, GError **error)
{
    ObjectiveConfig *config = &loader->config;
    loader->objective = data_objective_row(data);
    *config = data_objective(data);
    config->eos = tokenizer_eos(tok);
    find_sentinels(tok, config);
    config->vocab = tokenizer_size(tok);
    bool in_place = loader->objective->streams == STREAMS_ENCODER;
    if (in_place && !find_specials(loader, tok, error))
        return false;
    if (!in_place && tokenizer_eos(tok) < 0)
        return fail_user(error, "the tokenizer %s has no end-of-sequence token, which data.objective=%s needs",
                         tokenizer_path(tok), loader->objective->name);
    return loader->objective->plan(config, error);
}

/* What follows a text half of the time is from another one: there must be two. */
static bool check_documents(const Loader *loader, GError **error)
{
    int64_t first = pieces_document(loader->pieces, 0, 0);
    for (int64_t piece = pieces_count(loader->pieces) - 1; piece > 0; piece--)
        if (pieces_document(loader->pieces, 0, piece) != first)
            return true;
    return fail_user(error, "the dataset %s is one document; data.sentence_pairs=next takes text from others",
                     loader->data->prefix);
}

static bool open_pieces(Loader *loader, GError **error)
{
    const Objective *objective = loader->objective;
    const PiecesSpec spec = { .text = objective->text,
                              .raw_length = loader->config.raw_length,
                              .overlap = objective->overlap,
                              .min_length = objective->min_length,
                              .separator = objective->separated && !loader->data->append_eod ? loader->config.eos : -1,
                              .seed = loader->seed,
                              .in_order = loader->in_order,
                              .cut = loader->config.row_samples > 0 ? objective->cut : NULL,
                              .config = &loader->config };
    loader->pieces = pieces_open(loader->data, &spec);
    if (pieces_count(loader->pieces) == 0)
        return fail_user(error, "the dataset %s has no text of %ld tokens or more, which data.objective=%s needs",
                         loader->data->prefix, objective->min_length, objective->name);
    if (objective->choose && pieces_count(loader->pieces) > UINT32_MAX)
        return fail_user(error, "the dataset %s makes more than %u samples; split it", loader->data->prefix,
                         UINT32_MAX);
    return loader->config.sentence_pairs != PAIRS_NEXT || check_documents(loader, error);
}

/* Numpy's seeds have 32 bits. */
static bool open_compat(Loader *loader, const DataConfig *data, GError **error)
{
    if (loader->seed > UINT32_MAX)
        return fail_user(error, "run.seed=%" PRIu64 ": data.compat=%s draws by a seed below 2^32", loader->seed,
                         compat_names[data->compat]);
    if (loader->objective->separated && loader->data->tokenizer_hash && !loader->data->append_eod)
        return fail_user(
            error,
            "the dataset %s has nothing between its documents, which data.compat=%s takes as they are; make "
            "it again: loam prepare --append-eod",
            loader->data->prefix, compat_names[data->compat]);
    const CompatSpec spec = { .data = loader->data,
                              .config = &loader->config,
                              .seed = (uint32_t)loader->seed,
                              .n_samples = loader->in_order ? 0 : data->compat_samples,
                              .break_mode = (BreakMode)data->break_mode,
                              .batch = data->compat_batch,
                              .held_out = loader->in_order };
    const CompatKind *kind = compat_find((Compat)data->compat, loader->objective->name, error);
    if (!kind || !(loader->index = kind->open(&spec, error)))
        return false;
    loader->compat = kind;
    loader->n_rows = kind->count(loader->index);
    return loader->n_rows > 0 ||
           fail_user(error, "the dataset %s has too little text for one sample of %" PRId64 " tokens",
                     loader->data->prefix, loader->config.raw_length);
}

/* ---- packing ---- */

static Choice choose(const Loader *loader, int64_t sample)
{
    Choice choice = { .sample = sample,
                      .rng = philox_open(philox_key(loader->seed, PHILOX_CHOICE, 0), (uint64_t)sample),
                      .pair = philox_open(philox_key(loader->seed, PHILOX_CHOICE, 1), (uint64_t)sample / 2) };
    loader->objective->choose(&loader->config, pieces_length(loader->pieces, sample), &choice);
    return choice;
}

static PackLength sample_length(const void *context, int64_t sample)
{
    Choice choice = choose(context, sample);
    return (PackLength){ choice.n_inputs + ((const Loader *)context)->memory_rows, choice.n_targets };
}

static bool plan_rows(Loader *loader, GError **error)
{
    if (!open_pieces(loader, error))
        return false;
    int64_t n = pieces_count(loader->pieces);
    PackLength capacity = { loader_enc_length(loader) + loader->memory_rows, loader_dec_length(loader) };
    loader->n_rows = n;
    if (loader->objective->choose) {
        int64_t group = loader->config.row_samples;
        loader->plan = group > 0 ? pack_groups(n, group, capacity, sample_length, loader)
                                 : pack_plan(n, capacity, sample_length, loader);
        loader->n_rows = loader->plan->n_rows;
    }
    return true;
}

static Loader *open_one(const DataConfig *config, const char *prefix, const Tokenizer *tok, uint64_t seed,
                        bool in_order, GError **error)
{
    Loader *loader = g_new0(Loader, 1);
    g_mutex_init(&loader->mutex);
    loader->seed = seed;
    loader->in_order = in_order;
    loader->static_masks = config->static_masks;
    loader->memory_rows = config->memory_rows;
    loader->decoder_start = MAX(tokenizer_pad(tok), 0);
    loader->data = dataset_open(prefix, error);
    if (!loader->data || !check_dataset(loader->data, tok, error) || !plan_objective(loader, config, tok, error) ||
        !(config->compat ? open_compat(loader, config, error) : plan_rows(loader, error))) {
        loader_close(loader);
        return NULL;
    }
    loader->tokens = g_new(int32_t, loader->config.raw_length);
    loader->other = g_new(int32_t, loader->config.raw_length);
    if (loader->config.sentence_pairs != PAIRS_NONE || loader->config.short_sequence_probability > 0) {
        loader->sentences = g_new(int64_t, loader->config.raw_length);
        loader->other_sentences = g_new(int64_t, loader->config.raw_length);
    }
    example_init(&loader->example, &loader->config);
    return loader;
}

static void weigh_parts(Loader *loader, const MixtureRule *rule)
{
    int64_t rows[MIXTURE_MAX], tokens[MIXTURE_MAX];
    for (int k = 0; k < loader->mixture->n; k++) {
        rows[k] = loader->parts[k]->n_rows;
        tokens[k] = loader_raw_tokens(loader->parts[k]);
    }
    loader->n_rows = mixture_weigh(loader->mixture, rule, rows, tokens);
}

/* Each dataset draws by a seed of its own, but in Megatron all by the same, and for half a percent more samples than
 * their share. */
static bool open_parts(Loader *loader, const DataConfig *config, const Tokenizer *tok, uint64_t seed, bool in_order,
                       GError **error)
{
    const Mixture *mixture = loader->mixture;
    if (config->compat == COMPAT_MEGATRON && !mixture->weighted)
        return fail_user(error, "data.compat=megatron wants data.train with weights: PREFIX:WEIGHT,PREFIX:WEIGHT");
    for (int k = 0; k < mixture->n; k++) {
        PhiloxKey key = philox_key(seed, PHILOX_MIXTURE, (uint32_t)k);
        uint64_t own = config->compat ? seed : (uint64_t)key.k[1] << 32 | key.k[0];
        DataConfig part = *config;
        part.compat_samples = (int64_t)ceil((double)config->compat_samples * mixture->weights[k] * COMPAT_SURPLUS);
        if (!(loader->parts[k] = open_one(&part, mixture->paths[k], tok, own, in_order, error)))
            return false;
        loader->parts[k]->first_sample = (int64_t)k << PART_SHIFT;
    }
    loader->objective = loader->parts[0]->objective;
    loader->config = loader->parts[0]->config;
    weigh_parts(loader, &config->mixture);
    return true;
}

static Loader *open_mixture(const DataConfig *config, Mixture *mixture, const Tokenizer *tok, uint64_t seed,
                            bool in_order, GError **error)
{
    Loader *loader = g_new0(Loader, 1);
    g_mutex_init(&loader->mutex);
    loader->mixture = mixture;
    if (!open_parts(loader, config, tok, seed, in_order, error))
        g_clear_pointer(&loader, loader_close);
    return loader;
}

Loader *loader_open(const DataConfig *config, const char *prefix, const Tokenizer *tok, uint64_t seed, bool in_order,
                    GError **error)
{
    Mixture *mixture = mixture_parse(prefix, error);
    if (mixture && mixture->n > 1)
        return open_mixture(config, mixture, tok, seed, in_order, error);
    bool good = mixture != NULL;
    g_clear_pointer(&mixture, mixture_free);
    return good ? open_one(config, prefix, tok, seed, in_order, error) : NULL;
}

void loader_close(Loader *loader)
{
    if (!loader)
        return;
    for (int k = 0; loader->mixture && k < loader->mixture->n; k++)
        loader_close(loader->parts[k]);
    g_clear_pointer(&loader->mixture, mixture_free);
    example_clear(&loader->example);
    g_free(loader->tokens);
    g_free(loader->other);
    g_free(loader->sentences);
    g_free(loader->other_sentences);
    g_free(loader->continues);
    pack_free(loader->plan);
    if (loader->compat)
        loader->compat->close(loader->index);
    pieces_close(loader->pieces);
    dataset_close(loader->data);
    g_mutex_clear(&loader->mutex);
    g_free(loader);
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

/* What dropout masks depend on: unlike the number of the sample, unique in a mixture, up to 2^PART_SHIFT of each. */
static int64_t sample_index(const Loader *loader, int64_t sample)
{
    return loader->first_sample ^ sample;
}

/* A sequence for each document that attention ends with. */
static void add_sequences(const Example *example, int64_t sample, Batch *out)
{
    for (int64_t first = 0, end; first < example->n_inputs; first = end) {
        for (end = first + 1; end < example->n_inputs && !example->begins[end]; end++)
            continue;
        const BatchSequence sequence = { .sample = sample,
                                         .n = end - first,
                                         .ids = example->inputs + first,
                                         .targets = example->targets + first,
                                         .weights = example->weights + first,
                                         .place = example->place + first,
                                         .segment = example->segment + first,
                                         .first_position = (int32_t)first,
                                         .prefix = first == 0 ? example->prefix : 0,
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
    *text = (Text){ .tokens = tokens, .n = pieces_read(loader->pieces, epoch, piece, tokens), .sentences = sentences };
    if (sentences)
        text->n_sentences = pieces_sentences(loader->pieces, epoch, piece, sentences);
    return dataset_check_ids(loader->data, tokens, text->n, loader->config.vocab, error);
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
    uint64_t stream = (uint64_t)(loader->static_masks ? piece : sample);
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
        Choice choice = choose(loader, piece);
        good = add_sample(loader, epoch * plan->n_samples + piece, epoch, piece, &choice, out, error);
    }
    return good;
}

static bool add_row(Loader *loader, int64_t row, Batch *out, GError **error)
{
    if (loader->mixture) {
        int64_t within;
        int k = mixture_at(loader->mixture, row, &within);
        return add_row(loader->parts[k], within, out, error);
    }
    int64_t epoch = loader->in_order ? 0 : row / loader->n_rows, place = row % loader->n_rows;
    if (loader->compat) {
        bool good = loader->compat->fill(loader->index, epoch, place, &loader->example, error);
        if (good)
            add_example(loader, row, out);
        return good;
    }
    if (!loader->in_order || loader->plan) /* a plan has its fullest rows first: no order to evaluate a part in */
        place = (int64_t)philox_permute(philox_key(loader->seed, PHILOX_SAMPLE_ORDER, 0), (uint64_t)epoch,
                                        (uint64_t)place, (uint64_t)loader->n_rows);
    return loader->plan ? add_packed_row(loader, epoch, place, out, error)
                        : add_sample(loader, row, epoch, place, NULL, out, error);
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
