#include "text/byte_bpe_model.h"

#include "base/file.h"
#include "text/roles.h"

#include <string.h>

#define MAX_FILE ((size_t)256 << 20) /* bytes */

/* ---- pieces as bytes ---- */

/* GPT-2's character of a byte: itself where it is visible in Latin-1, else the next from U+0100. */
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
    int16_t bytes[512]; /* by character; -1 */
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

/* ---- merges ---- */

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

/* The splits of a piece into two pieces; what was added is never merged. */
static void add_splits(const ByteBpe *model, guint whole, GArray *splits)
{
    size_t n;
    const char *bytes = g_bytes_get_data(model->bytes->pdata[whole], &n);
    if (byte_bpe_added(model, (int)whole))
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
    *facts = (TokenizerFacts){ .name = "byte-bpe",
                               .size = (int)model->names->len,
                               .pad = role_of(model, ROLE_PAD),
                               .eos = role_of(model, ROLE_EOS),
                               .unk = role_of(model, ROLE_UNK),
                               .bos = role_of(model, ROLE_BOS),
                               .added = g_array_copy(model->added) };
}

/* ---- vocab.json and merges.txt ---- */

/* Lines of "left right"; the first may be a comment. Any other line that is not such a pair is an error. */
static GPtrArray *parse_merges(char *text, GError **error)
{
    g_autoptr(GPtrArray) pairs = g_ptr_array_new();
    int number = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        number++;
        g_strchomp(line);
        if (*line == 0 || (number == 1 && g_str_has_prefix(line, "#version")))
            continue;
        char *space = strchr(line, ' ');
        if (space == NULL || space == line || space[1] == 0 || strchr(space + 1, ' ')) {
            fail_user(error, "line %d is not two pieces with a space between", number);
            return NULL;
        }
        *space = 0;
        g_ptr_array_add(pairs, line);
        g_ptr_array_add(pairs, space + 1);
    }
    return g_steal_pointer(&pairs);
}

/* The names that are no byte and that no merge makes: "<|endoftext|>", RoBERTa's "<mask>". */
static GArray *find_specials(const GPtrArray *names, const GPtrArray *pairs)
{
    g_autoptr(GHashTable) made = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i + 1 < pairs->len; i += 2)
        g_hash_table_add(made, g_strconcat(pairs->pdata[i], pairs->pdata[i + 1], NULL));
    GArray *added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    for (guint id = 0; id < names->len; id++) {
        AddedToken token = { .content = names->pdata[id], .id = (int)id, .special = true };
        token.lstrip = g_strcmp0(token.content, "<mask>") == 0; /* as RoBERTa has it */
        if (token.content && g_utf8_strlen(token.content, -1) > 1 && !g_hash_table_contains(made, token.content))
            g_array_append_val(added, token);
    }
    return added;
}

static ByteBpe *open_names(const GPtrArray *names, const char *merges_path, GError **error)
{
    g_autofree char *text = io_read_file(merges_path, MAX_FILE, NULL, error);
    if (text == NULL)
        return NULL;
    bool valid = g_utf8_validate(text, -1, NULL) || fail_user(error, "not UTF-8");
    g_autoptr(GPtrArray) pairs = valid ? parse_merges(text, error) : NULL;
    if (pairs == NULL) {
        fail_context(error, "%s", merges_path);
        return NULL;
    }
    g_autoptr(GArray) added = find_specials(names, pairs);
    ByteBpe *model = byte_bpe_new(names, added);
    model->words = words_open_gpt2();
    if (!byte_bpe_set_merges(model, pairs, error)) {
        fail_context(error, "%s", merges_path);
        g_clear_pointer(&model, byte_bpe_free);
    }
    return model;
}

void *byte_bpe_open_files(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error)
{
    json_t *vocab = tokenizer_json_parse(data, bytes, error);
    g_autoptr(GPtrArray) names = vocab ? tokenizer_json_vocab(vocab, error) : NULL;
    ByteBpe *model = NULL;
    if (names) {
        g_autofree char *stem = g_strndup(path, strlen(path) - strlen("vocab.json"));
        g_autofree char *merges = g_strconcat(stem, "merges.txt", NULL);
        model = open_names(names, merges, error);
    }
    if (model)
        byte_bpe_facts(model, facts);
    json_decref(vocab);
    return model;
}
