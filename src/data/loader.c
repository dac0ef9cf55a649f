#include "data/loader.h"

#include "base/check.h"

#include <string.h>

#define AT(field) offsetof(DataConfig, field)
const OptionRow data_options[] = {
    { "data.train", OPT_STRING, AT(train), "", 0, 0, OPT_IDENTITY, "token dataset to train on: PREFIX of loam prepare",
      NULL },
    { "data.valid", OPT_STRING, AT(valid), "", 0, 0, OPT_TUNABLE,
      "held-out token dataset, or several: NAME:PREFIX,NAME:PREFIX; empty: none", NULL },
    { "data.objective", OPT_ENUM, AT(objective), "span_corruption", 0, 0, OPT_IDENTITY,
      "what the model is asked to predict", objective_names },
    { "data.input_length", OPT_I64, AT(input_length), "512", 2, 1e6, OPT_IDENTITY,
      "tokens of an input at most, EOS included", NULL },
    { "data.target_length", OPT_I64, AT(target_length), "0", 0, 1e6, OPT_IDENTITY,
      "tokens of a target at most, EOS included; 0: what the objective needs", NULL },
    { "data.noise_density", OPT_F64, AT(noise_density), "0.15", 0.001, 0.999, OPT_IDENTITY,
      "share of the text that is masked", NULL },
    { "data.mean_span_length", OPT_F64, AT(mean_span_length), "3", 1, 1e4, OPT_IDENTITY,
      "tokens of a masked span on average", NULL },
};
#undef AT
const int n_data_options = G_N_ELEMENTS(data_options);

#define CACHED_EPOCHS 2 /* neighbours: a batch may begin in one and end in the next */

/* The concatenation of an epoch. Place p holds document order[p] and begins at token starts[p]. */
typedef struct Epoch {
    int64_t number;  /* -1: not built */
    uint32_t *order; /* (documents); NULL: the file's order */
    int64_t *starts; /* (documents + 1) */
    uint64_t last_use;
} Epoch;

struct Loader {
    Dataset *data;
    int64_t n_documents, n_tokens, n_pieces;
    int32_t vocab, decoder_start;
    uint64_t seed;
    bool in_order;
    const Objective *objective;
    ObjectiveConfig config;

    GMutex mutex; /* guards all below */
    Epoch epochs[CACHED_EPOCHS];
    uint64_t uses;
    int32_t *tokens; /* (raw_length) */
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

/* Sentinels with ids that fall one by one from that of <extra_id_0>. */
static int32_t count_sentinels(const Tokenizer *tok)
{
    int32_t first = tokenizer_sentinel(tok, 0), n = 0;
    while (n < TOKENIZER_SENTINELS && first >= 0 && tokenizer_sentinel(tok, n) == first - n)
        n++;
    return n;
}

static bool plan_objective(Loader *loader, const DataConfig *config, const Tokenizer *tok, GError **error)
{
    if (tokenizer_eos(tok) < 0)
        return fail_user(error, "the tokenizer %s has no end-of-sequence token, which data.objective=%s needs",
                         tokenizer_path(tok), objective_names[config->objective]);
    loader->objective = &objectives[config->objective];
    loader->config = (ObjectiveConfig){ .input_length = config->input_length,
                                        .target_length = config->target_length,
                                        .noise_density = config->noise_density,
                                        .mean_span_length = config->mean_span_length,
                                        .eos = tokenizer_eos(tok),
                                        .first_sentinel = tokenizer_sentinel(tok, 0),
                                        .n_sentinels = count_sentinels(tok) };
    return loader->objective->plan(&loader->config, error);
}

static void loader_init(Loader *loader)
{
    const ObjectiveConfig *config = &loader->config;
    loader->n_documents = indexed_documents(loader->data->set);
    loader->n_tokens = indexed_tokens(loader->data->set);
    loader->n_pieces = (loader->n_tokens + config->raw_length - 1) / config->raw_length;
    loader->tokens = g_new(int32_t, config->raw_length);
    loader->example.inputs = g_new(int32_t, config->input_length);
    loader->example.targets = g_new(int32_t, config->target_length);
    for (int i = 0; i < CACHED_EPOCHS; i++)
        loader->epochs[i].number = -1;
}

Loader *loader_open(const DataConfig *config, const char *prefix, const Tokenizer *tok, uint64_t seed, bool in_order,
                    GError **error)
{
    Loader *loader = g_new0(Loader, 1);
    g_mutex_init(&loader->mutex);
    loader->seed = seed;
    loader->in_order = in_order;
    loader->vocab = tokenizer_size(tok);
    loader->decoder_start = MAX(tokenizer_pad(tok), 0);
    loader->data = dataset_open(prefix, error);
    if (!loader->data || !check_dataset(loader->data, tok, error) || !plan_objective(loader, config, tok, error)) {
        loader_close(loader);
        return NULL;
    }
    loader_init(loader);
    return loader;
}

void loader_close(Loader *loader)
{
    if (!loader)
        return;
    for (int i = 0; i < CACHED_EPOCHS; i++) {
        g_free(loader->epochs[i].order);
        g_free(loader->epochs[i].starts);
    }
    g_free(loader->example.inputs);
    g_free(loader->example.targets);
    g_free(loader->tokens);
    dataset_close(loader->data);
    g_mutex_clear(&loader->mutex);
    g_free(loader);
}

int64_t loader_epoch_samples(const Loader *loader, G_GNUC_UNUSED int64_t epoch)
{
    return loader->n_pieces;
}

const ObjectiveConfig *loader_objective(const Loader *loader)
{
    return &loader->config;
}

int64_t loader_fingerprint(const Loader *loader)
{
    return indexed_fingerprint(loader->data->set);
}

int64_t loader_raw_tokens(const Loader *loader)
{
    return loader->n_tokens;
}

/* ---- epochs ---- */

static int64_t document_length(const Indexed *set, int64_t document)
{
    int64_t first, last, length = 0;
    indexed_document(set, document, &first, &last);
    for (int64_t sequence = first; sequence < last; sequence++)
        length += indexed_length(set, sequence);
    return length;
}

static void shuffle_documents(const Loader *loader, Epoch *epoch)
{
    Philox rng = philox_open(philox_key(loader->seed, PHILOX_DOCUMENT_ORDER, 0), (uint64_t)epoch->number);
    for (uint32_t i = 0; i < loader->n_documents; i++)
        epoch->order[i] = i;
    for (int64_t i = loader->n_documents - 1; i > 0; i--) {
        uint64_t j = philox_below(&rng, (uint64_t)i + 1);
        uint32_t swapped = epoch->order[i];
        epoch->order[i] = epoch->order[j];
        epoch->order[j] = swapped;
    }
}

static int64_t document_at(const Epoch *epoch, int64_t place)
{
    return epoch->order ? epoch->order[place] : place;
}

static void build_epoch(const Loader *loader, Epoch *epoch, int64_t number)
{
    epoch->number = number;
    if (!epoch->starts)
        epoch->starts = g_new(int64_t, loader->n_documents + 1);
    if (!loader->in_order) {
        if (!epoch->order)
            epoch->order = g_new(uint32_t, loader->n_documents);
        shuffle_documents(loader, epoch);
    }
    epoch->starts[0] = 0;
    for (int64_t place = 0; place < loader->n_documents; place++)
        epoch->starts[place + 1] = epoch->starts[place] + document_length(loader->data->set, document_at(epoch, place));
}

static const Epoch *find_epoch(Loader *loader, int64_t number)
{
    Epoch *oldest = &loader->epochs[0];
    for (int i = 0; i < CACHED_EPOCHS; i++) {
        Epoch *epoch = &loader->epochs[i];
        if (epoch->number == number) {
            epoch->last_use = ++loader->uses;
            return epoch;
        }
        if (epoch->last_use < oldest->last_use)
            oldest = epoch;
    }
    build_epoch(loader, oldest, number);
    oldest->last_use = ++loader->uses;
    return oldest;
}

/* ---- samples ---- */

/* The last place that begins at or before a token of the epoch. */
static int64_t find_place(const Loader *loader, const Epoch *epoch, int64_t token)
{
    int64_t low = 0, high = loader->n_documents;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (epoch->starts[middle] <= token)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Copies tokens [from, from + n) of a document, or as many as it has; returns how many. */
static int64_t read_document(const Indexed *set, int64_t document, int64_t from, int64_t n, int32_t *out)
{
    int64_t first, last, done = 0;
    indexed_document(set, document, &first, &last);
    for (int64_t sequence = first; sequence < last && done < n; sequence++) {
        int64_t length = indexed_length(set, sequence), take = MIN(length - from, n - done);
        if (take > 0) {
            indexed_read(set, sequence, from, take, out + done);
            done += take;
        }
        from = MAX(from - length, 0);
    }
    return done;
}

/* Tokens of a piece of an epoch into loader->tokens; returns how many. */
static int64_t read_piece(const Loader *loader, const Epoch *epoch, int64_t piece)
{
    int64_t begin = piece * loader->config.raw_length;
    int64_t n = MIN(loader->config.raw_length, loader->n_tokens - begin), done = 0;
    for (int64_t place = find_place(loader, epoch, begin); done < n; place++)
        done += read_document(loader->data->set, document_at(epoch, place), begin + done - epoch->starts[place],
                              n - done, loader->tokens + done);
    return n;
}

static bool check_ids(const Loader *loader, int64_t n, GError **error)
{
    for (int64_t i = 0; i < n; i++)
        if (loader->tokens[i] < 0 || loader->tokens[i] >= loader->vocab)
            return fail_user(error,
                             "the dataset %s holds token id %d, but the tokenizer has %d ids: it was made with another "
                             "tokenizer; run loam prepare again",
                             loader->data->prefix, loader->tokens[i], loader->vocab);
    return true;
}

static bool add_sample(Loader *loader, int64_t sample, Batch *out, GError **error)
{
    int64_t number = sample / loader->n_pieces, piece = sample % loader->n_pieces;
    if (loader->in_order)
        number = 0;
    else
        piece = (int64_t)philox_permute(philox_key(loader->seed, PHILOX_SAMPLE_ORDER, 0), (uint64_t)number,
                                        (uint64_t)piece, (uint64_t)loader->n_pieces);
    int64_t n = read_piece(loader, find_epoch(loader, number), piece);
    if (!check_ids(loader, n, error))
        return false;

    Example *example = &loader->example;
    Philox rng = philox_open(philox_key(loader->seed, PHILOX_OBJECTIVE, 0), (uint64_t)sample);
    loader->objective->apply(&loader->config, &rng, loader->tokens, n, example);
    batch_add(out, sample, example->inputs, example->n_inputs, example->targets, example->n_targets,
              loader->decoder_start);
    return true;
}

bool loader_get(Loader *loader, int64_t first, int64_t n, Batch *out, GError **error)
{
    CHECK(first >= 0 && n >= 0, "samples %ld + %ld", first, n);
    bool good = true;
    batch_clear(out);
    g_mutex_lock(&loader->mutex);
    for (int64_t i = 0; good && i < n; i++)
        good = add_sample(loader, first + i, out, error);
    g_mutex_unlock(&loader->mutex);
    return good;
}
