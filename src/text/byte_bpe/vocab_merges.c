/* byte_bpe/vocab_merges.c: reads GPT-2's two files, vocab.json and the merges.txt beside it. */
#include "base/file.h"
#include "text/byte_bpe/model.h"

#include <string.h>

/* Lines of "left right"; the first may be a comment. Any other line that is not such a pair is an error. */
static GPtrArray *parse_merges(char *text, GError **error)
{
    g_autoptr(GPtrArray) pairs = g_ptr_array_new();
    int number = 0;
    for (char *line; (line = strsep(&text, "\n"));) {
        number++;
        g_strchomp(line);
        if (*line == 0 || (number == 1 && g_str_has_prefix(line, "#version")))
            continue;
        char *space = strchr(line, ' ');
        if (space == NULL || space == line || space[1] == 0 || strchr(space + 1, ' '))
            return fail_user(error, "line %d is not two pieces with a space between", number);
        *space = 0;
        g_ptr_array_add(pairs, line);
        g_ptr_array_add(pairs, space + 1);
    }
    return g_steal_pointer(&pairs);
}

/* The special tokens: pieces that are no byte and no result of a merge, as "<|endoftext|>" and RoBERTa's "<mask>". */
static GArray *find_specials(const GPtrArray *names, const GPtrArray *pairs)
{
    g_autoptr(GHashTable) made = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i + 1 < pairs->len; i += 2)
        g_hash_table_add(made, g_strconcat(pairs->pdata[i], pairs->pdata[i + 1], NULL));
    GArray *added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    for (guint id = 0; id < names->len; id++) {
        AddedToken token = { .content = names->pdata[id], .id = (int)id, .special = true };
        token.lstrip = g_strcmp0(token.content, "<mask>") == 0; /* as RoBERTa's tokenizer does */
        if (token.content && g_utf8_strlen(token.content, -1) > 1 && !g_hash_table_contains(made, token.content))
            g_array_append_val(added, token);
    }
    return added;
}

static ByteBpe *open_names(const GPtrArray *names, const char *merges_path, GError **error)
{
    g_autofree char *text = io_read_regular(merges_path, TOKENIZER_MAX_FILE, NULL, error);
    if (text == NULL)
        return NULL;
    bool valid = g_utf8_validate(text, -1, NULL) || fail_user(error, "not UTF-8");
    g_autoptr(GPtrArray) pairs = valid ? parse_merges(text, error) : NULL;
    if (pairs == NULL)
        return fail_context(error, "%s", merges_path);
    g_autoptr(GArray) added = find_specials(names, pairs);
    ByteBpe *model = byte_bpe_new(names, added);
    model->pre_tokenizer = pre_tokenizer_open_gpt2();
    if (!byte_bpe_set_merges(model, pairs, error)) {
        fail_context(error, "%s", merges_path);
        g_clear_pointer(&model, byte_bpe_free);
    }
    return model;
}

void *byte_bpe_open_files(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error)
{
    json_auto_t *vocab = tokenizer_json_parse(data, bytes, error);
    g_autoptr(GPtrArray) names = vocab ? tokenizer_json_vocab(vocab, error) : NULL;
    ByteBpe *model = NULL;
    if (names) {
        g_autofree char *stem = g_strndup(path, strlen(path) - strlen("vocab.json"));
        g_autofree char *merges = g_strconcat(stem, "merges.txt", NULL);
        model = open_names(names, merges, error);
    }
    const uint64_t hash = tokenizer_class_hash(&facts->class_);
    if (model) {
        model->add_prefix_space = facts->class_.text == CLASS_BYTE_LEVEL && facts->class_.prefix_space;
        byte_bpe_facts(model, facts);
        facts->settings = model->add_prefix_space ? hash : 0;
    }
    return model;
}
