#include "text/sentencepiece/model.h"

#include "text/merges.h"

#include <string.h>

struct CharBpe {
    Merges *merges;
    bool fuses;             /* fuse_unk: a run of unknown characters becomes one `unk` */
    bool whole;             /* ignore_merges: a word that is a piece becomes that piece */
    GAsyncQueue *scratches; /* pool of MergesScratch * */
};

/* Refuses options of a BPE model that these models do not have. */
static bool check_char_bpe(const TokenizerJson *json, GError **error)
{
    static const char *const texts[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    const json_t *dropout = json_object_get(json->model, "dropout");
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        if (*json_text(json->model, texts[i]))
            return fail_user(error, "its model has a %s, which a BPE of characters cannot have in loam", texts[i]);
    if (json_is_number(dropout) && json_number_value(dropout) != 0)
        return fail_user(error, "its model has a dropout, so splits a text differently each time: set it to null");
    return true;
}

/* The id of a piece, which may be a special token; -1 if the vocabulary does not have it. */
static int32_t id_in_vocab(const TokenizerJson *json, const char *piece)
{
    const json_t *id = json_object_get(json_object_get(json->model, "vocab"), piece);
    return id ? (int32_t)json_integer_value(id) : -1;
}

static bool add_merge(CharBpe *bpe, const TokenizerJson *json, size_t i, GError **error)
{
    g_autofree char *left = NULL, *right = NULL;
    if (!tokenizer_json_merge(json, i, &left, &right, error))
        return false;
    g_autofree char *whole = g_strconcat(left, right, NULL);
    const int32_t ids[] = { id_in_vocab(json, left), id_in_vocab(json, right), id_in_vocab(json, whole) };
    if (ids[0] < 0 || ids[1] < 0 || ids[2] < 0)
        return fail_user(error, "merge %zu, of \"%s\" and \"%s\", has a piece that is not in the vocabulary", i, left,
                         right);
    merges_add(bpe->merges, ids[0], ids[1], (uint32_t)i, ids[2]);
    return true;
}

CharBpe *char_bpe_open(const TokenizerJson *json, GError **error)
{
    int32_t no_bytes[256];
    size_t n = tokenizer_json_merges(json);
    memset(no_bytes, 0xff, sizeof no_bytes);
    if (!check_char_bpe(json, error))
        return NULL;
    if (n >= MERGES_MAX)
        return fail_user(error, "%zu merges are too many: at most %d", n, MERGES_MAX - 1);
    CharBpe *bpe = g_new0(CharBpe, 1);
    bpe->merges = merges_open(no_bytes, n);
    bpe->fuses = json_is_true(json_object_get(json->model, "fuse_unk"));
    bpe->whole = json_is_true(json_object_get(json->model, "ignore_merges"));
    bpe->scratches = g_async_queue_new_full((GDestroyNotify)merges_scratch_close);
    for (size_t i = 0; i < n; i++)
        if (!add_merge(bpe, json, i, error)) {
            char_bpe_close(bpe);
            return NULL;
        }
    return bpe;
}

void char_bpe_close(CharBpe *bpe)
{
    if (bpe == NULL)
        return;
    merges_close(bpe->merges);
    g_async_queue_unref(bpe->scratches);
    g_free(bpe);
}

/* Appends a character's ids: of its piece, its bytes, or the unknown piece; nothing if it has none of these. */
static void put_char(const CharBpe *bpe, const Viterbi *pieces, const char *at, size_t n, bool *after_unk, GArray *ids)
{
    int32_t id = trie_find(&pieces->trie, at, n);
    bool all_bytes = id < 0 && pieces->byte_fallback;
    for (size_t i = 0; all_bytes && i < n; i++)
        all_bytes = pieces->bytes[(unsigned char)at[i]] >= 0;
    bool unknown = id < 0 && !all_bytes;
    if (id >= 0)
        g_array_append_val(ids, id);
    for (size_t i = 0; all_bytes && i < n; i++)
        g_array_append_val(ids, pieces->bytes[(unsigned char)at[i]]);
    if (unknown && pieces->unk >= 0 && !(bpe->fuses && *after_unk))
        g_array_append_val(ids, pieces->unk);
    *after_unk = unknown;
}

void char_bpe_encode(const CharBpe *bpe, const Viterbi *pieces, const char *word, size_t bytes, GArray *ids)
{
    g_autoptr(GArray) start = g_array_new(FALSE, FALSE, sizeof(int32_t));
    bool after_unk = false;
    int32_t whole = bpe->whole ? trie_find(&pieces->trie, word, bytes) : -1;
    if (whole >= 0) {
        g_array_append_val(ids, whole);
        return;
    }
    for (size_t at = 0, n; at < bytes; at += n) {
        n = MIN((size_t)g_utf8_skip[(unsigned char)word[at]], bytes - at);
        put_char(bpe, pieces, word + at, n, &after_unk, start);
    }
    MergesScratch *scratch = g_async_queue_try_pop(bpe->scratches);
    const int32_t *merged;
    scratch = scratch ? scratch : merges_scratch_open();
    size_t n = merges_apply_ids(bpe->merges, scratch, (const int32_t *)(void *)start->data, start->len, &merged);
    g_array_append_vals(ids, merged, (guint)n);
    g_async_queue_push_front(bpe->scratches, scratch);
}
