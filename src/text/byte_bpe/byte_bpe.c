#include "base/text.h"
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

static char *normalize_bpe(const void *opaque, const char *text, size_t bytes, TextEdges *edges, GArray **map,
                           GError **error)
{
    g_auto(MappedText) normal = mapped_text_of(text, bytes, map != NULL);
    edges->normalized = true;
    if (!normalizer_apply(((const ByteBpe *)opaque)->normalizer, &normal, &edges->starts_text, error))
        return NULL;
    if (map)
        *map = g_steal_pointer(&normal.map);
    return g_string_free(g_steal_pointer(&normal.text), FALSE);
}

/* Takes an EncodeScratch from the pool, or makes one if it is empty. The caller pushes it back to the pool. */
static EncodeScratch *take_scratch(const ByteBpe *model)
{
    EncodeScratch *scratch = g_async_queue_try_pop(model->scratches);
    if (scratch)
        return scratch;
    scratch = g_new(EncodeScratch, 1);
    *scratch = (EncodeScratch){ .pre_tokenizer = pre_tokenizer_scratch_open(model->pre_tokenizer),
                                .merges = merges_scratch_open(),
                                .cache = g_new0(CachedWord, CACHED_WORDS) };
    return scratch;
}

/* Makes *text the text that is split into words: normalized, with a prefix space, and without the space that belongs to
 * a blank after it. *made owns it, unless it is the given text; with_map: it has an offset map. False, with an error,
 * if the normalizer gives up. */
static bool prepare_text(const ByteBpe *model, const char **text, size_t *bytes, TextEdges edges, bool with_map,
                         MappedText *made, GError **error)
{
    *bytes -= edges.before_blank && *bytes > 0 && (*text)[*bytes - 1] == ' ';
    bool changes = !edges.normalized && !normalizer_is_empty(model->normalizer);
    const bool adds_space = model->add_prefix_space && !edges.after_blank;
    if (!changes && (!adds_space || *bytes == 0 || **text == ' '))
        return true;
    *made = mapped_text_of(*text, *bytes, with_map);
    if (changes && !normalizer_apply(model->normalizer, made, &(bool){ true }, error))
        return false;
    if (adds_space && made->text->len > 0 && made->text->str[0] != ' ') {
        g_string_prepend_c(made->text, ' ');
        if (with_map)
            g_array_prepend_val(made->map, (uint32_t){ 0 });
    }
    *text = made->text->str;
    *bytes = made->text->len;
    return true;
}

static bool encode_bpe(const void *opaque, const char *text, size_t bytes, TextEdges edges, GArray *ids, GError **error)
{
    const ByteBpe *model = opaque;
    g_auto(MappedText) made = { 0 };
    if (!prepare_text(model, &text, &bytes, edges, false, &made, error))
        return false;
    Encoding encoding = { model, take_scratch(model), ids };
    bool ok = pre_tokenizer_each(model->pre_tokenizer, encoding.scratch->pre_tokenizer, text, bytes, encode_bpe_word,
                                 &encoding) ||
              fail_user(error, "the tokenizer's pattern gave up on this text");
    g_async_queue_push_front(model->scratches, encoding.scratch);
    return ok;
}

/* ---- where ids end ---- */

/* The ids of a text, word by word. */
typedef struct Trace {
    const ByteBpe *model;
    const char *text;   /* as it was split into words */
    const GArray *from; /* uint32_t: the index in the original text of each byte of `text`; NULL means the same */
    const int32_t *ids;
    int64_t n, i;
    uint32_t *ends;
} Trace;

static bool trace_word(void *context, const char *word, size_t bytes)
{
    Trace *trace = context;
    const ByteBpe *model = trace->model;
    size_t begin = (size_t)(word - trace->text), at = 0;
    while (at < bytes && trace->i < trace->n) {
        const int32_t id = trace->ids[trace->i];
        at += id == model->unk ? 1 : g_bytes_get_size(model->bytes->pdata[id]);
        size_t end = begin + at;
        trace->ends[trace->i++] = trace->from ? offset_map_at(trace->from, end) : (uint32_t)end;
    }
    /* Without an unknown piece, bytes that are no piece are dropped. */
    return at == bytes || (at < bytes && model->unk < 0);
}

static bool ends_of_bpe(const void *opaque, const char *text, size_t bytes, TextEdges edges, const int32_t *ids,
                        int64_t n, uint32_t *ends)
{
    const ByteBpe *model = opaque;
    g_auto(MappedText) made = { 0 };
    if (!prepare_text(model, &text, &bytes, edges, true, &made, NULL))
        return false;
    Trace trace = { model, text, made.map, ids, n, 0, ends };
    EncodeScratch *scratch = take_scratch(model);
    bool good = pre_tokenizer_each(model->pre_tokenizer, scratch->pre_tokenizer, text, bytes, trace_word, &trace);
    g_async_queue_push_front(model->scratches, scratch);
    return good && trace.i == n;
}

/* Decodes. A piece may be part of a character, so bytes of all pieces are joined; then invalid UTF-8 becomes U+FFFD. */
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
    text_append_valid(text, bytes->str, bytes->len, "\uFFFD");
    return true;
}

#define BYTE_BPE                                                                                                       \
    TOKENIZER_KIND(byte_bpe_free, byte_bpe_id, piece_of_bpe, encode_bpe, decode_bpe),                                  \
        .normalize = normalize_bpe, .to_json = byte_bpe_to_json, .ends = ends_of_bpe
const TokenizerKind kind_byte_bpe = { BYTE_BPE, TOKENIZER_OF_FILE("vocab.json", byte_bpe_open_files),
                                      TOKENIZER_OF_JSON("BPE", byte_bpe_open_json), .second_file = "merges.txt" };
const TokenizerKind kind_tiktoken = { BYTE_BPE, TOKENIZER_OF_FILE("ranks.tiktoken", byte_bpe_open_ranks) };
