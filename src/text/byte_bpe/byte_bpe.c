#include "text/byte_bpe/model.h"

#include <string.h>
#include <xxhash.h>

#define MAX_WHOLE 512 /* longest word, in bytes, that is looked up as a whole piece */

/* One call of encode. */
typedef struct Encoding {
    const ByteBpe *model;
    EncodeScratch *scratch;
    GArray *ids;
} Encoding;

static const char *piece_of_bpe(const void *model, int id)
{
    return ((const ByteBpe *)model)->names->pdata[id];
}

/* The id of a word that is a piece, for models with whole_words. */
static bool find_whole(const ByteBpe *model, const char *word, size_t bytes, int32_t *id)
{
    if (!model->whole_words || bytes > MAX_WHOLE)
        return false;
    g_autofree char *name = byte_bpe_name(word, bytes);
    *id = byte_bpe_id(model, name);
    return *id >= 0;
}

static bool encode_bpe_word(void *context, const char *word, size_t bytes)
{
    const Encoding *encoding = context;
    EncodeScratch *scratch = encoding->scratch;
    CachedWord *cached = NULL;
    if (bytes <= CACHED_BYTES) {
        cached = &scratch->cache[XXH3_64bits(word, bytes) & (CACHED_WORDS - 1)];
        if (cached->bytes == bytes && memcmp(cached->text, word, bytes) == 0) {
            g_array_append_vals(encoding->ids, cached->ids, cached->n_ids);
            return true;
        }
    }
    int32_t whole;
    const int32_t *ids = &whole;
    size_t n = 1;
    if (!find_whole(encoding->model, word, bytes, &whole))
        n = merges_apply(encoding->model->merges, scratch->merges, word, bytes, MERGES_NONE, &ids);
    g_array_append_vals(encoding->ids, ids, (guint)n);
    if (cached && n <= CACHED_IDS) {
        cached->bytes = (uint8_t)bytes;
        cached->n_ids = (uint8_t)n;
        memcpy(cached->text, word, bytes);
        memcpy(cached->ids, ids, n * sizeof *ids);
    }
    return true;
}

static char *normalize_bpe(const void *opaque, const char *text, size_t bytes)
{
    return normalizer_map(((const ByteBpe *)opaque)->normalizer, text, bytes);
}

static bool encode_bpe(const void *opaque, const char *text, size_t bytes, TextEdges edges, GArray *ids, GError **error)
{
    const ByteBpe *model = opaque;
    bytes -= edges.before_blank && bytes > 0 && text[bytes - 1] == ' ';
    MappedText made;
    if (!byte_bpe_text(model, text, bytes, edges, false, &made, error))
        return false;
    text = made.text ? made.text->str : text;
    bytes = made.text ? made.text->len : bytes;
    Encoding encoding = { model, encode_scratch_take(model->scratches, model->pre_tokenizer), ids };
    bool ok = pre_tokenizer_each(model->pre_tokenizer, encoding.scratch->pre_tokenizer, text, bytes, encode_bpe_word,
                                 &encoding) ||
              fail_user(error, "the tokenizer's pattern gave up on this text");
    g_async_queue_push_front(model->scratches, encoding.scratch);
    mapped_text_clear(&made);
    return ok;
}

/* Decodes. A piece may be part of a character, so the bytes of all pieces are joined first; then invalid UTF-8 becomes
 * U+FFFD. */
static bool decode_bpe(const void *opaque, const int32_t *ids, int64_t n, TextEdges edges, GString *text,
                       GError **error)
{
    (void)edges, (void)error;
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
    .piece = piece_of_bpe,
    .encode = encode_bpe,
    .decode = decode_bpe,
    .normalize = normalize_bpe,
    .json_type = "BPE",
    .open_json = byte_bpe_open_json,
    .second_file = "merges.txt",
    .to_json = byte_bpe_to_json,
    .ends = byte_bpe_ends,
};

const TokenizerKind kind_tiktoken = {
    .file_name = "ranks.tiktoken",
    .open = byte_bpe_open_ranks,
    .close = byte_bpe_free,
    .id = byte_bpe_id,
    .piece = piece_of_bpe,
    .encode = encode_bpe,
    .decode = decode_bpe,
    .normalize = normalize_bpe,
    .to_json = byte_bpe_to_json,
    .ends = byte_bpe_ends,
};
