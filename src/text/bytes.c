#include "text/kind.h"

#include "base/check.h"
#include "base/text.h"
#include "text/byte_bpe/byte_bpe.h"

#include <string.h>

enum { PAD, EOS, UNK, FIRST_BYTE, FIRST_EXTRA = FIRST_BYTE + 256, SIZE = FIRST_EXTRA + 125 };

/* Pieces by id. <extra_id_i> is 259 + i, as in Hugging Face's ByT5Tokenizer. */
typedef struct Bytes {
    char names[SIZE][16];
} Bytes;

/* The added tokens. White space around pad, eos and unk is removed with them; around sentinels it is kept. */
static GArray *list_added(const Bytes *model)
{
    GArray *added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    for (int id = 0; id < SIZE; id++) {
        bool strips = id < FIRST_BYTE;
        AddedToken token = {
            .content = model->names[id], .id = id, .special = true, .lstrip = strips, .rstrip = strips
        };
        if (strips || id >= FIRST_EXTRA)
            g_array_append_val(added, token);
    }
    return added;
}

static void *open_bytes(G_GNUC_UNUSED const char *path, const char *data, size_t bytes, TokenizerFacts *facts,
                        GError **error)
{
    json_auto_t *root = tokenizer_json_parse_settings(data, bytes, error);
    if (root == NULL)
        return NULL;
    if (strcmp(json_text(root, "tokenizer_class"), "ByT5Tokenizer") != 0)
        return fail_user(error,
                         "its tokenizer_class is not ByT5Tokenizer, and no file of another tokenizer lies beside it");
    Bytes *model = g_new0(Bytes, 1);
    static const char *const specials[] = { "<pad>", "</s>", "<unk>" };
    for (int id = 0; id < SIZE; id++) {
        int byte = id - FIRST_BYTE;
        if (id < FIRST_BYTE)
            g_strlcpy(model->names[id], specials[id], sizeof model->names[id]);
        else if (id >= FIRST_EXTRA)
            g_snprintf(model->names[id], sizeof model->names[id], "<extra_id_%d>", id - FIRST_EXTRA);
        else if (g_ascii_isgraph((char)byte))
            model->names[id][0] = (char)byte;
        else
            g_snprintf(model->names[id], sizeof model->names[id], "<0x%02X>", (unsigned)byte);
    }
    *facts = (TokenizerFacts){ TOKENIZER_FACTS("bytes", SIZE, PAD, EOS, UNK, -1), .added = list_added(model),
                               .blank_space = BLANK_TEXT, .json_frame = frame_of(-1, EOS, false) };
    return model;
}

static int id_of_byte(const void *opaque, const char *piece)
{
    const Bytes *model = opaque;
    for (int id = 0; id < SIZE; id++)
        if (strcmp(model->names[id], piece) == 0)
            return id;
    return -1;
}

static const char *piece_of_byte(const void *opaque, int id)
{
    return ((const Bytes *)opaque)->names[id];
}

static bool encode_bytes(const void *opaque, const char *text, size_t bytes, TextEdges edges, GArray *ids,
                         GError **error)
{
    (void)opaque, (void)edges, (void)error;
    guint before = ids->len;
    CHECK(bytes <= G_MAXUINT - before, "%zu bytes of text", bytes);
    g_array_set_size(ids, before + (guint)bytes);
    int32_t *out = &g_array_index(ids, int32_t, before);
    for (size_t i = 0; i < bytes; i++)
        out[i] = FIRST_BYTE + (uint8_t)text[i];
    return true;
}

static bool decode_bytes(const void *opaque, const int32_t *ids, int64_t n, TextEdges edges, GString *text,
                         GError **error)
{
    (void)opaque, (void)edges, (void)error;
    g_autoptr(GString) bytes = g_string_new(NULL);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] >= FIRST_BYTE && ids[i] < FIRST_EXTRA)
            g_string_append_c(bytes, (char)(ids[i] - FIRST_BYTE));
    text_append_valid(text, bytes->str, bytes->len, ""); /* ByT5Tokenizer leaves out what is not UTF-8 */
    return true;
}

/* A byte-level BPE model without merges. */
static json_t *bytes_to_json(const void *model, const char *data, size_t bytes, GError **error)
{
    (void)data, (void)bytes, (void)error;
    json_t *vocab = json_object();
    for (int byte = 0; byte < 256; byte++) {
        g_autofree char *name = byte_bpe_name(&(char){ (char)byte }, 1);
        json_object_set_new(vocab, name, json_integer(FIRST_BYTE + byte));
    }
    g_autoptr(GArray) tokens = list_added(model);
    for (guint i = 0; i < tokens->len; i++) {
        const AddedToken *token = &g_array_index(tokens, AddedToken, i);
        json_object_set_new(vocab, token->content, json_integer(token->id));
    }
    json_t *level = json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 0,
                              "use_regex", 0);
    return json_tokenizer(json_added_tokens(tokens), NULL, level, NULL, json_incref(level),
                          json_pack("{s:s, s:n, s:n, s:s, s:s, s:b, s:b, s:o, s:[]}", "type", "BPE", "dropout",
                                    "unk_token", "continuing_subword_prefix", "", "end_of_word_suffix", "", "fuse_unk",
                                    0, "byte_fallback", 0, "vocab", vocab, "merges"));
}

static bool ends_of_bytes(const void *model, const char *text, size_t bytes, TextEdges edges, const int32_t *ids,
                          int64_t n, uint32_t *ends)
{
    (void)model, (void)text, (void)edges, (void)ids;
    for (int64_t i = 0; i < n; i++)
        ends[i] = (uint32_t)i + 1;
    return (size_t)n == bytes;
}

const TokenizerKind kind_bytes = { TOKENIZER_KIND(g_free, id_of_byte, piece_of_byte, encode_bytes, decode_bytes),
                                   TOKENIZER_OF_FILE("tokenizer_config.json", open_bytes), .to_json = bytes_to_json,
                                   .ends = ends_of_bytes };
