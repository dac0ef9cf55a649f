#include "text/byte_bpe/model.h"

#include <string.h>

/* ---- names of pieces ---- */

/* GPT-2's character for a byte: the one in Latin-1 if that is visible, else the next of U+0100, U+0101, … */
static gunichar char_of_byte(unsigned byte)
{
    unsigned hidden = 0;
    for (unsigned b = 0; b <= byte; b++) {
        bool visible = (b >= '!' && b <= '~') || (b >= 0xa1 && b != 0xad);
        if (b == byte && visible)
            return b;
        hidden += !visible;
    }
    return 255 + hidden;
}

typedef struct ByteChars {
    gunichar chars[256];
    int16_t bytes[512]; /* byte by character; -1 means none */
} ByteChars;

static const ByteChars *byte_chars(void)
{
    static ByteChars table;
    static gsize filled;
    if (g_once_init_enter(&filled)) {
        memset(table.bytes, 0xff, sizeof table.bytes);
        for (unsigned byte = 0; byte < 256; byte++) {
            table.chars[byte] = char_of_byte(byte);
            table.bytes[table.chars[byte]] = (int16_t)byte;
        }
        g_once_init_leave(&filled, 1);
    }
    return &table;
}

char *byte_bpe_name(const char *bytes, size_t n)
{
    const ByteChars *table = byte_chars();
    char *name = g_malloc(2 * n + 1), *at = name;
    for (size_t i = 0; i < n; i++)
        at += g_unichar_to_utf8(table->chars[(uint8_t)bytes[i]], at);
    *at = 0;
    return name;
}

char *byte_bpe_bytes(const char *name, size_t *n)
{
    const ByteChars *table = byte_chars();
    g_autofree char *bytes = g_malloc(strlen(name) + 1);
    size_t count = 0;
    for (; *name; name = g_utf8_next_char(name)) {
        gunichar c = g_utf8_get_char(name);
        if (c >= G_N_ELEMENTS(table->bytes) || table->bytes[c] < 0)
            return NULL;
        bytes[count++] = (char)table->bytes[c];
    }
    bytes[count] = 0;
    if (n)
        *n = count;
    return g_steal_pointer(&bytes);
}

/* ---- the model ---- */

static void encode_scratch_close(void *opaque)
{
    EncodeScratch *scratch = opaque;
    pre_tokenizer_scratch_close(scratch->pre_tokenizer);
    merges_scratch_close(scratch->merges);
    g_free(scratch->cache);
    g_free(scratch);
}

ByteBpe *byte_bpe_new(const GPtrArray *names, const GArray *added)
{
    ByteBpe *model = g_new0(ByteBpe, 1);
    model->names = g_ptr_array_new_with_free_func(g_free);
    model->bytes = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    model->ids = g_hash_table_new(g_str_hash, g_str_equal);
    model->added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    model->unk = -1;
    model->scratches = g_async_queue_new_full(encode_scratch_close);
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
    g_async_queue_unref(model->scratches);
    g_array_unref(model->added);
    g_hash_table_unref(model->ids);
    g_ptr_array_unref(model->bytes);
    g_ptr_array_unref(model->names);
    merges_close(model->merges);
    g_clear_pointer(&model->pairs, g_array_unref);
    g_free(model->pattern);
    normalizer_close(model->normalizer);
    pre_tokenizer_close(model->pre_tokenizer);
    g_free(model);
}

int byte_bpe_id(const void *model, const char *name)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(((const ByteBpe *)model)->ids, name)) - 1;
}

const AddedToken *byte_bpe_added(const GArray *added, int id)
{
    for (guint i = 0; i < added->len; i++)
        if (g_array_index(added, AddedToken, i).id == id)
            return &g_array_index(added, AddedToken, i);
    return NULL;
}

/* ---- merges ---- */

/* The ids of the pieces of the 256 bytes, for merges_open. */
static void find_byte_ids(const ByteBpe *model, int32_t byte_ids[256])
{
    for (int byte = 0; byte < 256; byte++) {
        g_autofree char *name = byte_bpe_name(&(char){ (char)byte }, 1);
        int id = byte_bpe_id(model, name);
        byte_ids[byte] = id >= 0 ? id : model->unk;
    }
}

bool byte_bpe_set_merges(ByteBpe *model, const GPtrArray *pairs, GError **error)
{
    int32_t byte_ids[256];
    guint n = pairs->len / 2;
    if (n >= MERGES_MAX)
        return fail_user(error, "%u merges are too many: at most %d", n, MERGES_MAX - 1);
    find_byte_ids(model, byte_ids);
    model->merges = merges_open(byte_ids, n);
    model->pairs = g_array_sized_new(FALSE, FALSE, sizeof(int32_t), 2 * n);
    for (guint rank = 0; rank < n; rank++) {
        const char *left = pairs->pdata[2 * rank], *right = pairs->pdata[2 * rank + 1];
        g_autofree char *whole = g_strconcat(left, right, NULL);
        int ids[3] = { byte_bpe_id(model, left), byte_bpe_id(model, right), byte_bpe_id(model, whole) };
        if (ids[0] < 0 || ids[1] < 0 || ids[2] < 0)
            return fail_user(error, "merge %u, of \"%s\" and \"%s\", has a piece that is not in the vocabulary", rank,
                             left, right);
        merges_add(model->merges, ids[0], ids[1], rank, ids[2]);
        g_array_append_vals(model->pairs, ids, 2);
    }
    return true;
}

typedef struct Split {
    int32_t left, right, whole;
} Split;

/* Appends the splits of a piece into two pieces. Added tokens are never merged. */
static void add_splits(const ByteBpe *model, guint whole, GArray *splits)
{
    size_t n;
    const char *bytes = g_bytes_get_data(model->bytes->pdata[whole], &n);
    if (byte_bpe_added(model->added, (int)whole))
        return;
    for (size_t cut = 1; cut < n; cut++) {
        g_autofree char *left = byte_bpe_name(bytes, cut);
        int left_id = byte_bpe_id(model, left);
        if (left_id < 0)
            continue;
        g_autofree char *right = byte_bpe_name(bytes + cut, n - cut);
        Split split = { left_id, byte_bpe_id(model, right), (int32_t)whole };
        if (split.right >= 0)
            g_array_append_val(splits, split);
    }
}

void byte_bpe_derive_merges(ByteBpe *model)
{
    int32_t byte_ids[256];
    g_autoptr(GArray) splits = g_array_new(FALSE, FALSE, sizeof(Split));
    find_byte_ids(model, byte_ids);
    for (guint id = 0; id < model->bytes->len; id++)
        add_splits(model, id, splits);
    model->merges = merges_open(byte_ids, splits->len);
    for (guint i = 0; i < splits->len; i++) {
        const Split *split = &g_array_index(splits, Split, i);
        merges_add(model->merges, split->left, split->right, (uint32_t)split->whole, split->whole);
    }
}

/* ---- facts ---- */

static int role_of(const ByteBpe *model, TokenRole role)
{
    for (const char *const *name = token_role_pieces(role); *name; name++)
        if (byte_bpe_id(model, *name) >= 0)
            return byte_bpe_id(model, *name);
    return -1;
}

void byte_bpe_facts(const ByteBpe *model, TokenizerFacts *facts)
{
    *facts =
        (TokenizerFacts){ TOKENIZER_FACTS("byte-bpe", (int)model->names->len, role_of(model, ROLE_PAD),
                                          role_of(model, ROLE_EOS), role_of(model, ROLE_UNK), role_of(model, ROLE_BOS)),
                          .added = g_array_copy(model->added) };
}
