#include "text/byte_bpe_model.h"

#include "base/check.h"

#include <string.h>
#include <xxhash.h>

#define CACHED       32768 /* words: 2 MiB for each encoder; a power of two */
#define CACHED_BYTES 30
#define CACHED_IDS   8
#define MAX_WHOLE    512 /* bytes of a word that is looked up as a piece */

/* One cache line. */
typedef struct CachedWord {
    uint8_t bytes, n_ids; /* bytes 0: empty */
    char text[CACHED_BYTES];
    int32_t ids[CACHED_IDS];
} CachedWord;

/* What a thread needs while it encodes; kept for the next that comes. */
typedef struct Encoder {
    const ByteBpe *model;
    WordsScratch *words;
    MergesScratch *merges;
    CachedWord *cache;
    GArray *out;
} Encoder;

struct ByteBpeIdle {
    GMutex mutex;
    GPtrArray *encoders;
};

/* ---- encoders ---- */

static void encoder_close(void *opaque)
{
    Encoder *encoder = opaque;
    words_scratch_close(encoder->words);
    merges_scratch_close(encoder->merges);
    g_free(encoder->cache);
    g_free(encoder);
}

static ByteBpeIdle *idle_open(void)
{
    ByteBpeIdle *idle = g_new0(ByteBpeIdle, 1);
    g_mutex_init(&idle->mutex);
    idle->encoders = g_ptr_array_new_with_free_func(encoder_close);
    return idle;
}

static void idle_close(ByteBpeIdle *idle)
{
    g_ptr_array_unref(idle->encoders);
    g_mutex_clear(&idle->mutex);
    g_free(idle);
}

static Encoder *take_encoder(const ByteBpe *model)
{
    g_mutex_lock(&model->idle->mutex);
    guint n = model->idle->encoders->len;
    Encoder *encoder = n > 0 ? g_ptr_array_steal_index_fast(model->idle->encoders, n - 1) : NULL;
    g_mutex_unlock(&model->idle->mutex);
    if (encoder)
        return encoder;
    encoder = g_new0(Encoder, 1);
    encoder->model = model;
    encoder->words = words_scratch_open(model->words);
    encoder->merges = merges_scratch_open();
    encoder->cache = g_new0(CachedWord, CACHED);
    return encoder;
}

static void give_encoder(const ByteBpe *model, Encoder *encoder)
{
    g_mutex_lock(&model->idle->mutex);
    g_ptr_array_add(model->idle->encoders, encoder);
    g_mutex_unlock(&model->idle->mutex);
}

/* ---- the model ---- */

ByteBpe *byte_bpe_new(const GPtrArray *names, const GArray *added)
{
    ByteBpe *model = g_new0(ByteBpe, 1);
    model->names = g_ptr_array_new_with_free_func(g_free);
    model->bytes = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    model->ids = g_hash_table_new(g_str_hash, g_str_equal);
    model->added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    model->unk = -1;
    model->idle = idle_open();
    for (guint id = 0; id < names->len; id++) {
        char *name = g_strdup(names->pdata[id] ? names->pdata[id] : "");
        size_t n = 0;
        char *bytes = byte_bpe_bytes(name, &n);
        g_ptr_array_add(model->names, name);
        g_ptr_array_add(model->bytes, bytes ? g_bytes_new_take(bytes, n) : g_bytes_new(name, strlen(name)));
        if (*name)
            g_hash_table_insert(model->ids, name, GUINT_TO_POINTER(id + 1));
    }
    for (guint i = 0; added && i < added->len; i++) {
        AddedToken token = g_array_index(added, AddedToken, i);
        token.content = model->names->pdata[token.id];
        g_bytes_unref(model->bytes->pdata[token.id]);
        model->bytes->pdata[token.id] = g_bytes_new(token.content, strlen(token.content));
        g_array_append_val(model->added, token);
    }
    return model;
}

void byte_bpe_free(void *opaque)
{
    ByteBpe *model = opaque;
    if (model == NULL)
        return;
    idle_close(model->idle);
    g_array_unref(model->added);
    g_hash_table_unref(model->ids);
    g_ptr_array_unref(model->bytes);
    g_ptr_array_unref(model->names);
    merges_close(model->merges);
    g_clear_pointer(&model->pairs, g_array_unref);
    g_free(model->pattern);
    words_close(model->words);
    g_free(model);
}

int byte_bpe_id(const void *model, const char *name)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(((const ByteBpe *)model)->ids, name)) - 1;
}

const AddedToken *byte_bpe_added(const ByteBpe *model, int id)
{
    for (guint i = 0; i < model->added->len; i++)
        if (g_array_index(model->added, AddedToken, i).id == id)
            return &g_array_index(model->added, AddedToken, i);
    return NULL;
}

static const char *piece_of(const void *model, int id)
{
    return ((const ByteBpe *)model)->names->pdata[id];
}

/* ---- encode ---- */

static bool find_whole(const ByteBpe *model, const char *word, size_t bytes, int32_t *id)
{
    if (!model->whole_words || bytes > MAX_WHOLE)
        return false;
    g_autofree char *name = byte_bpe_name(word, bytes);
    *id = byte_bpe_id(model, name);
    return *id >= 0;
}

static bool encode_word(void *context, const char *word, size_t bytes)
{
    Encoder *encoder = context;
    CachedWord *cached = NULL;
    if (bytes <= CACHED_BYTES) {
        cached = &encoder->cache[XXH3_64bits(word, bytes) & (CACHED - 1)];
        if (cached->bytes == bytes && memcmp(cached->text, word, bytes) == 0) {
            g_array_append_vals(encoder->out, cached->ids, cached->n_ids);
            return true;
        }
    }
    int32_t whole;
    const int32_t *ids = &whole;
    size_t n = 1;
    if (!find_whole(encoder->model, word, bytes, &whole))
        n = merges_apply(encoder->model->merges, encoder->merges, word, bytes, &ids);
    g_array_append_vals(encoder->out, ids, (guint)n);
    if (cached && n <= CACHED_IDS) {
        cached->bytes = (uint8_t)bytes;
        cached->n_ids = (uint8_t)n;
        memcpy(cached->text, word, bytes);
        memcpy(cached->ids, ids, n * sizeof *ids);
    }
    return true;
}

static char *normalize(const void *opaque, const char *text, size_t bytes)
{
    const ByteBpe *model = opaque;
    return model->compose ? g_utf8_normalize(text, (gssize)bytes, G_NORMALIZE_NFC) : g_strndup(text, bytes);
}

static bool encode(const void *opaque, const char *text, size_t bytes, bool first, GArray *ids, GError **error)
{
    (void)first;
    const ByteBpe *model = opaque;
    g_autofree char *other = NULL;
    if (model->compose) {
        text = other = normalize(model, text, bytes);
        bytes = strlen(other);
    }
    if (model->add_prefix_space && bytes > 0 && *text != ' ') {
        char *spaced = g_strdup_printf(" %.*s", (int)bytes, text);
        g_free(other);
        text = other = spaced;
        bytes++;
    }
    Encoder *encoder = take_encoder(model);
    encoder->out = ids;
    bool ok = words_each(model->words, encoder->words, text, bytes, encode_word, encoder) ||
              fail_user(error, "the tokenizer's pattern gave up on this text");
    give_encoder(model, encoder);
    return ok;
}

/* Pieces may be parts of a character, so only the whole is looked at; what is no UTF-8 becomes U+FFFD. */
static bool decode(const void *opaque, const int32_t *ids, int64_t n, GString *text, GError **error)
{
    (void)error;
    const ByteBpe *model = opaque;
    g_autoptr(GString) bytes = g_string_new(NULL);
    for (int64_t i = 0; i < n; i++) {
        size_t size;
        const char *piece = g_bytes_get_data(model->bytes->pdata[ids[i]], &size);
        g_string_append_len(bytes, piece, (gssize)size);
    }
    g_autofree char *valid = g_utf8_make_valid(bytes->str, (gssize)bytes->len);
    g_string_append(text, valid);
    return true;
}

const TokenizerKind kind_byte_bpe = {
    .file_name = "vocab.json",
    .open = byte_bpe_open_files,
    .close = byte_bpe_free,
    .id = byte_bpe_id,
    .piece = piece_of,
    .encode = encode,
    .decode = decode,
    .normalize = normalize,
    .json_type = "BPE",
    .open_json = byte_bpe_open_json,
    .beside = "merges.txt",
    .to_json = byte_bpe_to_json,
};

const TokenizerKind kind_tiktoken = {
    .file_name = "ranks.tiktoken",
    .open = byte_bpe_open_ranks,
    .close = byte_bpe_free,
    .id = byte_bpe_id,
    .piece = piece_of,
    .encode = encode,
    .decode = decode,
    .normalize = normalize,
    .to_json = byte_bpe_to_json,
};
