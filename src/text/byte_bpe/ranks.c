/* byte_bpe/ranks.c: reads a rank file of tiktoken. It names neither its pattern nor its special tokens: those of
 * published files are known by the number of ranks. */
#include "base/log.h"
#include "text/byte_bpe/model.h"

#include <string.h>

#define MAX_PIECE 1024 /* most bytes of a ranked piece; pieces of o200k have at most 128 */

/* The patterns of cl100k (Llama 3's too) and of o200k, as published. */
#define ENDING        "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define REST          "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+"
#define SPACES        "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER         "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER         "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define PATTERN_CL100 ENDING "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+" REST "[\\r\\n]*" SPACES
#define PATTERN_O200                                                                                                   \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" ENDING "?|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" ENDING "?" REST \
    "[\\r\\n/]*" SPACES

/* Patterns by name; NULL means GPT-2's hand-written splitter. */
static const struct {
    const char *name, *pattern;
} patterns[] = { { "gpt2", NULL }, { "cl100k", PATTERN_CL100 }, { "o200k", PATTERN_O200 } };

/* Published files: number of ranks, pattern, special tokens. */
static const struct Published {
    guint n_ranks;
    const char *pattern; /* NULL means GPT-2's */
    struct {
        int id;
        const char *name;
    } specials[5];
} published[] = {
    { 50256, NULL, { { 50256, "<|endoftext|>" } } },
    { 50280, NULL, { { 50256, "<|endoftext|>" } } },
    { 100256,
      PATTERN_CL100,
      { { 100257, "<|endoftext|>" },
        { 100258, "<|fim_prefix|>" },
        { 100259, "<|fim_middle|>" },
        { 100260, "<|fim_suffix|>" },
        { 100276, "<|endofprompt|>" } } },
    { 199998, PATTERN_O200, { { 199999, "<|endoftext|>" }, { 200018, "<|endofprompt|>" } } },
    { 128000, PATTERN_CL100, { { 128000, "<|begin_of_text|>" }, { 128001, "<|end_of_text|>" } } },
};

/* Reads a line: the piece in base64, a space, the rank, which is the id. */
static bool read_rank(char *line, GPtrArray *names, GError **error)
{
    char *space = strchr(line, ' '), *end = NULL;
    guint64 rank = space ? g_ascii_strtoull(space + 1, &end, 10) : 0;
    if (space == NULL || end == space + 1 || *end != 0 || rank >= MERGES_MAX_ID)
        return fail_user(error, "want a piece in base64, a space and a rank below %d", MERGES_MAX_ID);
    *space = 0;
    gsize n;
    g_autofree guchar *bytes = g_base64_decode(line, &n); /* g_base64_decode ignores characters that are not base64 */
    g_autofree char *again = g_base64_encode(bytes, n);
    if (n == 0 || n > MAX_PIECE || strcmp(again, line) != 0)
        return fail_user(error, "the piece is no base64 of 1 to %d bytes", MAX_PIECE);
    if (names->len <= rank)
        g_ptr_array_set_size(names, (int)rank + 1);
    if (names->pdata[rank])
        return fail_user(error, "a second piece has the rank %" G_GUINT64_FORMAT, rank);
    names->pdata[rank] = byte_bpe_name((const char *)bytes, n);
    return true;
}

static GPtrArray *read_ranks(const char *data, guint *n_ranks, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *text = g_strdup(data);
    int number = 1;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")); number++) {
        g_strchomp(line);
        *n_ranks += *line != 0;
        if (*line && !read_rank(line, names, error))
            return fail_context(error, "line %d", number);
    }
    return g_steal_pointer(&names);
}

static void add_published(GPtrArray *names, const struct Published *known, GArray *added)
{
    for (size_t i = 0; i < G_N_ELEMENTS(known->specials) && known->specials[i].name; i++) {
        AddedToken token = { .content = known->specials[i].name, .id = known->specials[i].id, .special = true };
        if ((int)names->len <= token.id)
            g_ptr_array_set_size(names, token.id + 1);
        g_free(names->pdata[token.id]);
        names->pdata[token.id] = g_strdup(token.content);
        g_array_append_val(added, token);
    }
}

static const struct Published *find_published(guint n_ranks)
{
    for (size_t i = 0; i < G_N_ELEMENTS(published); i++)
        if (published[i].n_ranks == n_ranks)
            return &published[i];
    return NULL;
}

static bool find_pattern(const char *name, const char **pattern, GError **error)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(patterns); i++) {
        *pattern = patterns[i].pattern;
        if (strcmp(patterns[i].name, name) == 0)
            return true;
        g_string_append_printf(names, "%s%s", i ? ", " : "", patterns[i].name);
    }
    return fail_user(error, "there is no pattern %s: one of %s", name, names->str);
}

/* ---- the layout of AST-T5 ---- */

#define AST_T5_SENTINELS 1024

static void put_special(GPtrArray *names, GArray *added, char *content)
{
    const AddedToken token = { .content = content, .id = (int)names->len, .special = true };
    g_ptr_array_add(names, content);
    g_array_append_val(added, token);
}

/* Assigns ids as AST-T5 does: fairseq's four symbols, all pieces without gaps in the order of merges, sentinels. */
static void lay_out_added(GPtrArray **names, GArray **added)
{
    static const char *const first[] = { "<s>", "<pad>", "</s>", "<unk>" };
    GPtrArray *placed = g_ptr_array_new_with_free_func(g_free);
    GArray *specials = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    for (size_t i = 0; i < G_N_ELEMENTS(first); i++)
        put_special(placed, specials, g_strdup(first[i]));
    for (guint id = 0; id < (*names)->len; id++) {
        const char *name = (*names)->pdata[id];
        const AddedToken *special = byte_bpe_added(*added, (int)id);
        if (special)
            put_special(placed, specials, g_strdup(special->content));
        else if (name)
            g_ptr_array_add(placed, g_strdup(name));
    }
    for (int i = 0; i < AST_T5_SENTINELS; i++)
        put_special(placed, specials, g_strdup_printf("<sen%03d>", i));
    g_ptr_array_unref(*names);
    g_array_unref(*added);
    *names = placed;
    *added = specials;
}

static ByteBpe *open_pattern(const GPtrArray *names, const GArray *added, const char *pattern, GError **error)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    g_ptr_array_add(list, (char *)pattern);
    PreTokenizer *pre_tokenizer = pattern ? pre_tokenizer_open(list, 0, error) : pre_tokenizer_open_gpt2();
    if (pre_tokenizer == NULL)
        return NULL;
    ByteBpe *model = byte_bpe_new(names, added);
    model->pre_tokenizer = pre_tokenizer;
    model->pattern = g_strdup(pattern);
    model->whole_words = true;
    byte_bpe_derive_merges(model);
    return model;
}

void *byte_bpe_open_ranks(const char *path, const char *data, G_GNUC_UNUSED size_t bytes, TokenizerFacts *facts,
                          GError **error)
{
    guint n_ranks = 0;
    g_autoptr(GPtrArray) names = read_ranks(data, &n_ranks, error);
    g_autoptr(GArray) added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    if (names == NULL)
        return NULL;
    const struct Published other = { n_ranks, PATTERN_CL100, { { (int)names->len, "<|endoftext|>" } } };
    const struct Published *known = find_published(n_ranks);
    const char *pattern = known ? known->pattern : other.pattern;
    if (facts->pattern && !find_pattern(facts->pattern, &pattern, error))
        return NULL;
    if (known == NULL && facts->pattern == NULL)
        log_warning(
            "%s: no published file has %u ranks: text is split by the pattern of cl100k and <|endoftext|> comes "
            "after the last rank; loam tokenizer export --pattern NAME writes a tokenizer.json with another",
            path, n_ranks);
    add_published(names, known ? known : &other, added);
    if (facts->layout && strcmp(facts->layout, "ast-t5") != 0)
        return fail_user(error, "there is no layout %s: ast-t5", facts->layout);
    if (facts->layout)
        lay_out_added(&names, &added);
    ByteBpe *model = open_pattern(names, added, pattern, error);
    if (model)
        byte_bpe_facts(model, facts);
    return model;
}
