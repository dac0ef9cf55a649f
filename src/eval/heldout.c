#include "eval/heldout.h"

#include "base/log.h"
#include "base/text.h"
#include "data/data_config.h"

#include <string.h>

/* ---- the sets of data.valid ---- */

static void set_free(void *memory)
{
    HeldoutSet *set = memory;
    g_clear_pointer(&set->loader, loader_close);
    g_free(set->name);
    g_free(set->path_prefix);
    g_free(set);
}

static bool check_name(const GPtrArray *sets, const char *item, const char *name, GError **error)
{
    if (name == NULL && sets->len > 0)
        return fail_user(error, "data.valid: \"%s\" has no name; several sets are written NAME:PREFIX,NAME:PREFIX",
                         item);
    for (guint i = 0; i < sets->len; i++) {
        const HeldoutSet *set = sets->pdata[i];
        if (set->name == NULL)
            return fail_user(error, "data.valid: \"%s\" has no name; several sets are written NAME:PREFIX,NAME:PREFIX",
                             set->path_prefix);
        if (strcmp(set->name, name) == 0)
            return fail_user(error, "data.valid: two sets are named \"%s\"", name);
    }
    return true;
}

/* list: the dataset of the set, or several, as loader_open reads them. */
static bool add_heldout_set(GPtrArray *sets, const DataConfig *config, const char *name, const char *list,
                            const Tokenizer *tok, uint64_t seed, GError **error)
{
    g_auto(GStrv) paths = text_list(list);
    HeldoutSet *set = g_new0(HeldoutSet, 1);
    g_ptr_array_add(sets, set);
    set->name = g_strdup(name);
    set->path_prefix = g_strdup(paths[0] && !paths[1] ? paths[0] : list);
    set->loader = loader_open(config, list, tok, seed, true, error);
    return set->loader != NULL;
}

/* Adds the validation part of data.train (data.split) as the only set. */
static bool add_split(GPtrArray *sets, const DataConfig *config, const Tokenizer *tok, uint64_t seed, GError **error)
{
    g_autofree char *parts = sources_split_valid(config, error);
    return parts && (*parts == '\0' || add_heldout_set(sets, config, NULL, parts, tok, seed, error));
}

GPtrArray *heldout_sets_open(const DataConfig *config, const Tokenizer *tok, uint64_t seed, GError **error)
{
    g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(set_free);
    if (*config->valid == '\0')
        return add_split(sets, config, tok, seed, error) ? g_steal_pointer(&sets) : NULL;
    g_autofree char *list = language_weights_is(config->valid) ? language_weights_list(config->valid, true, error)
                                                               : g_strdup(config->valid);
    if (!list)
        return NULL;
    g_auto(GStrv) items = text_list(list);
    for (char **item = items; *item; item++) {
        const char *text = *item;
        size_t n = sources_valid_name(text);
        g_autofree char *name = n > 0 ? g_strndup(text, n) : NULL;
        const char *prefix = n > 0 ? text + n + 1 + strspn(text + n + 1, " \t") : text;
        g_autofree char *path = text_list_join((const char *const[]){ prefix, NULL });
        if (!check_name(sets, text, name, error) || !add_heldout_set(sets, config, name, path, tok, seed, error))
            return NULL;
    }
    return g_steal_pointer(&sets);
}

const char *heldout_set_name(const HeldoutSet *set)
{
    return set->name ? set->name : "valid";
}

int64_t heldout_set_hash(const HeldoutSet *set, int64_t n)
{
    const int64_t all = loader_epoch_packed(set->loader);
    return loader_fingerprint(set->loader) ^ (n > 0 ? MIN(n, all) : all);
}

void heldout_sets_start_decoder(const GPtrArray *sets, int32_t id)
{
    for (guint i = 0; i < sets->len; i++)
        loader_start_decoder(((HeldoutSet *)sets->pdata[i])->loader, id);
}

/* ---- losses ---- */

/* Reads the first samples of a loader, in batches. */
typedef struct Walk {
    Loader *loader;
    HeldoutStopFn stop;
    int64_t micro;          /* most samples of a batch */
    int64_t first, n, done; /* samples first … first + n - 1 are read; `done` of them were read so far */
    int64_t longest;        /* number of samples of the largest part */
    Batch *batch;           /* the batch that was read last */
    bool failed;
} Walk;

/* Iterator over a part of the first n samples; n 0 means all samples of the epoch. */
static Walk walk_open(Loader *loader, int64_t n, int64_t micro, HeldoutPart part, HeldoutStopFn stop)
{
    int64_t all = loader_epoch_packed(loader), of = MAX(part.of, 1);
    n = n > 0 ? MIN(n, all) : all;
    int64_t first = n * part.index / of;
    return (Walk){ .loader = loader,
                   .stop = stop,
                   .micro = micro,
                   .first = first,
                   .n = n * (part.index + 1) / of - first,
                   .longest = (n + of - 1) / of,
                   .batch = loader_batch(loader, (int32_t)micro) };
}

/* Reads the next batch; false after the last one, and on an error. */
static bool walk_next(Walk *walk, GError **error)
{
    int64_t first = walk->first + walk->done, n = MIN(walk->micro, walk->n - walk->done);
    if (n == 0)
        return false;
    walk->failed =
        walk->stop && walk->stop() ? !fail_stopped(error) : !loader_get(walk->loader, first, n, walk->batch, error);
    walk->done += n;
    return !walk->failed;
}

/* Whether no batch failed. */
static bool walk_close(Walk *walk)
{
    batch_free(walk->batch);
    return !walk->failed;
}

/* Ranks that gather weights from each other must run equally many passes: repeats a batch without using its losses,
 * once for each batch that the largest part has more than this one. */
static bool pass_empty(Walk *walk, Model *model, HeldoutPart part, GError **error)
{
    const ModelLoss plain = { .divided = true };
    const bool gathers = params_sharding(model_params(model)).level >= ZERO_WEIGHTS;
    int64_t most = (walk->longest + walk->micro - 1) / walk->micro, own = (walk->n + walk->micro - 1) / walk->micro;
    LossSums unused = { 0 };
    if (!gathers || part.of < 2 || own == most)
        return true;
    if (!loader_get(walk->loader, walk->first, 1, walk->batch, error))
        return false;
    for (int64_t i = own; i < most; i++)
        model_loss(model, walk->batch, &plain, &unused);
    return true;
}

bool heldout_loss(Model *model, Loader *loader, int64_t n, int64_t micro, HeldoutPart part, HeldoutStopFn stop,
                  LossSums *sums, GError **error)
{
    const ModelLoss plain = { .divided = true };
    Walk walk = walk_open(loader, n, micro, part, stop);
    progress_open("evaluating", "samples", (uint64_t)walk.n);
    while (walk_next(&walk, error)) {
        model_loss(model, walk.batch, &plain, sums);
        progress_note("loss %.4f", loss_sums_total(sums));
        progress_update((uint64_t)walk.done);
    }
    progress_close();
    bool equal = walk.failed || pass_empty(&walk, model, part, error);
    return walk_close(&walk) && equal;
}

bool heldout_unigram(Loader *loader, int64_t n, int64_t vocab, double *nats, GError **error)
{
    g_autofree int64_t *counts = g_new0(int64_t, vocab);
    int64_t total = 0;
    Walk walk = walk_open(loader, n, 16, (HeldoutPart){ 0 }, NULL);
    while (walk_next(&walk, error)) {
        const Batch *batch = walk.batch;
        for (int32_t row = 0; row < batch_loss_stream(batch)->n_tokens; row++)
            if (batch->weights[row] > 0 && batch->targets[row] < vocab) {
                counts[batch->targets[row]]++;
                total++;
            }
    }
    *nats = 0;
    for (int64_t id = 0; id < vocab; id++) {
        double p = (double)counts[id] / (double)total;
        *nats -= p > 0 ? p * log(p) : 0;
    }
    return walk_close(&walk);
}

/* (size of the tokenizer) The bytes of each id: 0 for sentinels and ends; -1 for pieces that are decoded together. */
static int32_t *bytes_of_ids(const Tokenizer *tok)
{
    int32_t *sizes = piece_bytes(tok);
    for (int i = 0; i < tokenizer_sentinels(tok); i++)
        sizes[tokenizer_sentinel(tok, i)] = 0;
    const int ends[] = { tokenizer_eos(tok), tokenizer_pad(tok) };
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
        if (ends[i] >= 0)
            sizes[ends[i]] = 0;
    return sizes;
}

/* Adds the bytes of target tokens first … end - 1 to *bytes, and collects the ids that are to be decoded; false if one
 * of them is the unknown token. */
static bool text_ids(const Tokenizer *tok, const int32_t *sizes, const Batch *batch, int32_t first, int32_t end,
                     int64_t *bytes, GArray *ids)
{
    g_array_set_size(ids, 0);
    for (int32_t row = first; row < end; row++) {
        int32_t id = batch->targets[row];
        if (batch->weights[row] == 0 || id >= tokenizer_size(tok))
            continue;
        if (id == tokenizer_unk(tok))
            return false;
        if (sizes[id] < 0)
            g_array_append_val(ids, id);
        else
            *bytes += sizes[id];
    }
    return true;
}

/* Adds the bytes of a batch's target texts to *bytes; -1 means unknown, and stays. A piece of bytes is not decoded:
 * beside a blank it may be a part of a character, which would become U+FFFD. */
static bool count_bytes(const Tokenizer *tok, const int32_t *sizes, const Batch *batch, int64_t *bytes, GError **error)
{
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    const TokenStream *stream = batch_loss_stream(batch);
    for (int32_t s = 0; s < stream->n_seq && *bytes >= 0; s++) {
        if (!text_ids(tok, sizes, batch, stream->cu[s], stream->cu[s + 1], bytes, ids)) {
            *bytes = -1;
            break;
        }
        g_autofree char *text = tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, error);
        if (text == NULL)
            return false;
        *bytes += (int64_t)strlen(text);
    }
    return true;
}

bool heldout_bytes(Loader *loader, const Tokenizer *tok, int64_t n, int64_t *bytes, GError **error)
{
    g_autofree int32_t *sizes = bytes_of_ids(tok);
    bool good = true;
    Walk walk = walk_open(loader, n, 16, (HeldoutPart){ 0 }, NULL);
    *bytes = 0;
    while (good && walk_next(&walk, error))
        good = count_bytes(tok, sizes, walk.batch, bytes, error);
    return walk_close(&walk) && good;
}

double heldout_bits_per_byte(const LossSums *sums, int64_t bytes)
{
    if (bytes <= 0 || loss_sums_main(sums) != HEAD_TOKENS)
        return NAN;
    return sums->head[HEAD_TOKENS].nll / G_LN2 / (double)bytes;
}
