/* sentencepiece/json.c: writes a SentencePiece model as a tokenizer.json. */
#include "text/sentencepiece/model.h"

#include <string.h>

/* How a model is expressed in tokenizer.json. */
typedef struct Form {
    const SpModel *model;
    bool by_words; /* no piece contains SP_SPACE but at its start: text is split into words before the model sees it */
    bool adds_symbols; /* user-defined symbols are written as added tokens */
} Form;

static json_t *unigram_model(const SpModel *model)
{
    json_t *vocab = json_array();
    for (int id = 0; id < (int)model->pieces->len; id++) {
        const SpPiece *piece = sp_piece(model, id);
        json_t *entry = json_array();
        json_array_append_new(entry, json_string(piece->text));
        json_array_append_new(entry, json_real((double)sp_score(piece)));
        json_array_append_new(vocab, entry);
    }
    return json_pack("{s:s, s:i, s:o, s:b}", "type", "Unigram", "unk_id", model->unk, "vocab", vocab, "byte_fallback",
                     (int)model->byte_fallback);
}

/* ---- BPE: tokenizer.json needs merges; SentencePiece joins neighbours that make a piece, best score first ---- */

typedef struct Merge {
    float score; /* score of the piece that the merge makes */
    guint made;  /* id of that piece */
    guint cut;   /* length in bytes of its left part */
} Merge;

static gint compare_merges(gconstpointer a, gconstpointer b)
{
    const Merge *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    if (x->made != y->made)
        return x->made < y->made ? -1 : 1;
    return x->cut > y->cut ? -1 : x->cut < y->cut;
}

static GArray *find_merges(const SpModel *model, GHashTable *ids)
{
    GArray *merges = g_array_new(FALSE, FALSE, sizeof(Merge));
    for (int id = 0; id < (int)model->pieces->len; id++) {
        const SpPiece *piece = sp_piece(model, id);
        if (piece->type != SP_NORMAL || piece->text[0] == 0)
            continue;
        for (const char *cut = g_utf8_next_char(piece->text); *cut; cut = g_utf8_next_char(cut)) {
            g_autofree char *left = g_strndup(piece->text, (gsize)(cut - piece->text));
            if (!g_hash_table_contains(ids, left) || !g_hash_table_contains(ids, cut))
                continue;
            Merge merge = { piece->score, (guint)id, (guint)(cut - piece->text) };
            g_array_append_val(merges, merge);
        }
    }
    g_array_sort(merges, compare_merges);
    return merges;
}

static json_t *bpe_model(const Form *form)
{
    const SpModel *model = form->model;
    g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);
    json_t *vocab = json_object(), *list = json_array();
    for (int id = 0; id < (int)model->pieces->len; id++) {
        json_object_set_new(vocab, sp_piece(model, id)->text, json_integer(id));
        if (sp_piece(model, id)->type == SP_NORMAL)
            g_hash_table_add(ids, sp_piece(model, id)->text);
    }
    g_autoptr(GArray) merges = find_merges(model, ids);
    for (guint i = 0; i < merges->len; i++) {
        const Merge *merge = &g_array_index(merges, Merge, i);
        const char *made = sp_piece(model, (int)merge->made)->text;
        json_array_append_new(list, json_pack("[s%, s]", made, (size_t)merge->cut, made + merge->cut));
    }
    return json_pack("{s:s, s:n, s:s?, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout", "unk_token",
                     model->unk >= 0 ? sp_piece(model, model->unk)->text : NULL, "continuing_subword_prefix",
                     "end_of_word_suffix", "fuse_unk", 1, "byte_fallback", (int)model->byte_fallback, "ignore_merges",
                     (int)(model->has_user_symbols && !form->adds_symbols), "vocab", vocab, "merges", list);
}

/* ---- the parts of a tokenizer.json around the model ---- */

static json_t *replacement(const char *kind, const char *pattern, const char *content)
{
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", kind, pattern, "content", content);
}

/* A single part itself, several parts as a Sequence, NULL for none. Takes ownership of `parts`. */
static json_t *sequence(const char *list, json_t *parts)
{
    json_t *whole = NULL;
    if (json_array_size(parts) == 1)
        whole = json_incref(json_array_get(parts, 0));
    else if (json_array_size(parts) > 1)
        whole = json_pack("{s:s, s:O}", "type", "Sequence", list, parts);
    json_decref(parts);
    return whole;
}

/* Spaces are replaced here, since a Metaspace pre_tokenizer puts no SP_SPACE before text that starts with a space. */
static json_t *normalizer(const SpModel *model)
{
    json_t *steps = json_array();
    if (model->charsmap_bytes > 0) {
        g_autofree char *map = g_base64_encode((const guchar *)model->charsmap_data, model->charsmap_bytes);
        json_array_append_new(steps, json_pack("{s:s, s:s}", "type", "Precompiled", "precompiled_charsmap", map));
    }
    if (model->remove_extra_whitespaces) {
        json_array_append_new(steps, replacement("Regex", "\\A +|[ " SP_SPACE "]+\\z", ""));
        json_array_append_new(steps, replacement("Regex", " {2,}", " "));
    }
    if (model->add_dummy_prefix && model->treat_whitespace_as_suffix)
        json_array_append_new(steps, replacement("Regex", "\\z", SP_SPACE));
    else if (model->add_dummy_prefix)
        json_array_append_new(steps, json_pack("{s:s, s:s}", "type", "Prepend", "prepend", SP_SPACE));
    json_array_append_new(steps, replacement("String", " ", SP_SPACE));
    return sequence("normalizers", steps);
}

static gint longest_first(gconstpointer a, gconstpointer b)
{
    size_t x = strlen(*(char *const *)a), y = strlen(*(char *const *)b);
    return x != y ? (x > y ? -1 : 1) : strcmp(*(char *const *)a, *(char *const *)b);
}

/* A regular expression that matches any user-defined symbol, the longest first. */
static char *symbol_pattern(const SpModel *model)
{
    g_autoptr(GPtrArray) symbols = g_ptr_array_new_with_free_func(g_free);
    for (int id = 0; id < (int)model->pieces->len; id++)
        if (sp_piece(model, id)->type == SP_USER)
            g_ptr_array_add(symbols, g_regex_escape_string(sp_piece(model, id)->text, -1));
    g_ptr_array_sort(symbols, longest_first);
    g_ptr_array_add(symbols, NULL);
    return g_strjoinv("|", (char **)symbols->pdata);
}

static json_t *pre_tokenizer(const Form *form)
{
    const SpModel *model = form->model;
    json_t *parts = json_array();
    if (model->has_user_symbols && !form->adds_symbols && model->type == SP_BPE) {
        g_autofree char *pattern = symbol_pattern(model);
        json_array_append_new(parts, json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", pattern,
                                               "behavior", "Isolated", "invert", 0));
    }
    if (form->by_words)
        json_array_append_new(parts, json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", SP_SPACE,
                                               "prepend_scheme", "never", "split", 1));
    return sequence("pretokenizers", parts);
}

static json_t *decoder(const SpModel *model)
{
    bool at_end = model->treat_whitespace_as_suffix;
    json_t *parts = json_array();
    json_array_append_new(parts, replacement("String", SP_SPACE, " "));
    if (model->byte_fallback)
        json_array_append_new(parts, json_pack("{s:s}", "type", "ByteFallback"));
    json_array_append_new(parts, json_pack("{s:s}", "type", "Fuse"));
    if (model->add_dummy_prefix)
        json_array_append_new(parts, json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip", "content", " ", "start",
                                               (int)!at_end, "stop", (int)at_end));
    return sequence("decoders", parts);
}

static json_t *added_tokens(const Form *form)
{
    json_t *added = json_array();
    for (int id = 0; id < (int)form->model->pieces->len; id++) {
        const SpPiece *piece = sp_piece(form->model, id);
        AddedToken token = { .content = piece->text, .id = id, .special = piece->type != SP_USER };
        const char *name;
        token.lstrip = piece->type == SP_CONTROL && token_role_of(piece->text, &name) == ROLE_MASK;
        if (piece->type == SP_UNKNOWN || piece->type == SP_CONTROL || (piece->type == SP_USER && form->adds_symbols))
            json_array_append_new(added, json_added_token(&token));
    }
    return added;
}

/* ---- models that tokenizer.json cannot express ---- */

static bool is_word_wise(const SpModel *model)
{
    bool has_space = false;
    for (int id = 0; id < (int)model->pieces->len; id++) {
        const SpPiece *piece = sp_piece(model, id);
        bool is_text = piece->type == SP_NORMAL || piece->type == SP_USER;
        has_space |= is_text && strcmp(piece->text, SP_SPACE) == 0;
        if (is_text && *piece->text && strstr(g_utf8_next_char(piece->text), SP_SPACE))
            return false;
    }
    return has_space; /* without a piece for a space, unknown characters before and after a space would become one id */
}

/* The id of a user-defined symbol that normalization changes; -1 means there is none. */
static int changed_symbol(const SpModel *model)
{
    for (int id = 0; id < (int)model->pieces->len; id++) {
        const char *symbol = sp_piece(model, id)->text;
        if (sp_piece(model, id)->type != SP_USER)
            continue;
        g_autoptr(GString) mapped = g_string_new(NULL), own = g_string_new(symbol);
        charsmap_apply(&model->charsmap, symbol, strlen(symbol), mapped);
        bool squeezed = model->remove_extra_whitespaces && strchr(mapped->str, ' ');
        g_string_replace(mapped, " ", SP_SPACE, 0);
        g_string_replace(own, " ", SP_SPACE, 0);
        if (squeezed || strcmp(mapped->str, own->str) != 0)
            return id;
    }
    return -1;
}

static void count_piece(void *context, const char *piece, size_t bytes, int32_t id)
{
    (void)piece, (void)bytes, (void)id;
    ++*(int *)context;
}

/* Whether merging makes every piece from its own text. The tokenizer.json splits off user-defined symbols, and with
 * "ignore_merges" takes any part that is a whole piece, which is right only if merging makes it too. */
static bool joins_every_piece(const SpModel *model)
{
    g_autofree TrieKey *keys = g_new(TrieKey, model->pieces->len);
    size_t n = 0;
    bool all = true;
    for (int id = 0; id < (int)model->pieces->len; id++)
        if (sp_piece(model, id)->type == SP_NORMAL && *sp_piece(model, id)->text)
            keys[n++] = (TrieKey){ sp_piece(model, id)->text, (uint32_t)strlen(sp_piece(model, id)->text), id };
    Trie trie;
    trie_init(&trie, keys, n);
    for (size_t i = 0; i < n && all; i++) {
        int count = 0;
        sp_bpe_each(model, &trie, keys[i].text, keys[i].bytes, count_piece, &count);
        all = count == 1;
    }
    trie_clear(&trie);
    return all;
}

static bool has_spaced_symbol(const SpModel *model)
{
    for (int id = 0; id < (int)model->pieces->len; id++)
        if (sp_piece(model, id)->type == SP_USER && strstr(sp_piece(model, id)->text, SP_SPACE))
            return true;
    return false;
}

/* User-defined symbols that normalization changes can only be written as added tokens, which are found before
 * normalization and split the text. This gives the same ids if normalization does nothing at the ends of a text and the
 * symbols contain no spaces. */
static bool check_symbols(Form *form, GError **error)
{
    const SpModel *model = form->model;
    int changed = changed_symbol(model);
    bool keeps_ends = !model->add_dummy_prefix && !model->remove_extra_whitespaces;
    form->adds_symbols = changed >= 0 && keeps_ends && !has_spaced_symbol(model);
    if (changed >= 0 && !form->adds_symbols)
        return fail_user(error,
                         "piece %d is of its user_defined_symbols, and its own normalization changes it in text; "
                         "tokenizer.json cannot say that",
                         changed);
    if (changed < 0 && model->type == SP_BPE && !joins_every_piece(model))
        return fail_user(error, "it has user_defined_symbols and pieces that it never makes of their own text; "
                                "tokenizer.json cannot say that");
    return true;
}

static bool check_form(Form *form, GError **error)
{
    const SpModel *model = form->model;
    if (model->type != SP_UNIGRAM && model->type != SP_BPE)
        return fail_user(error, "only unigram and BPE models have a form in tokenizer.json");
    if (!model->escape_whitespaces)
        return fail_user(error, "it has escape_whitespaces=false, which tokenizer.json cannot say");
    for (int id = 0; id < (int)model->pieces->len; id++)
        if (sp_piece(model, id)->type == SP_UNUSED)
            return fail_user(error, "its piece \"%s\" is marked as unused, which tokenizer.json cannot say",
                             sp_piece(model, id)->text);
    return !model->has_user_symbols || check_symbols(form, error);
}

json_t *sp_model_json(G_GNUC_UNUSED const void *unused, const char *data, size_t bytes, GError **error)
{
    SpModel *model = sp_model_open(data, bytes, error);
    if (model == NULL)
        return NULL;
    Form form = { .model = model, .by_words = is_word_wise(model) };
    json_t *root = NULL;
    if (check_form(&form, error))
        root = json_tokenizer(added_tokens(&form), normalizer(model), pre_tokenizer(&form), NULL, decoder(model),
                              model->type == SP_BPE ? bpe_model(&form) : unigram_model(model));
    sp_model_close(model);
    return root;
}
