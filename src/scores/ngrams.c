#include "scores/ngrams.h"

#include "base/python_text.h"

#define CHARACTER (-1) /* first number of a pair whose second number is a character */

G_STATIC_ASSERT(sizeof(gpointer) == 8); /* a pair of numbers is stored as a key of the hash table */

static guint pair_hash(gconstpointer pair)
{
    return (guint)(((guint64)(gsize)pair * 0x9E3779B97F4A7C15u) >> 32);
}

NgramTable *ngrams_open(void)
{
    NgramTable *table = g_new0(NgramTable, 1);
    table->tokens = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    table->pairs = g_hash_table_new(pair_hash, g_direct_equal);
    return table;
}

void ngrams_close(NgramTable *table)
{
    g_hash_table_unref(table->tokens);
    g_hash_table_unref(table->pairs);
    g_free(table);
}

void ngrams_reset(NgramTable *table)
{
    g_hash_table_remove_all(table->tokens);
    g_hash_table_remove_all(table->pairs);
    table->n = 0;
}

/* The table stores each number + 1, since a lookup gives 0 for a token that is not in it. */
int32_t ngrams_token(NgramTable *table, const char *token, size_t bytes)
{
    char *key = g_strndup(token, bytes);
    int32_t found = GPOINTER_TO_INT(g_hash_table_lookup(table->tokens, key));
    if (found == 0) {
        found = ++table->n;
        g_hash_table_insert(table->tokens, key, GINT_TO_POINTER(found));
    } else {
        g_free(key);
    }
    return found - 1;
}

static int32_t join_grams(NgramTable *table, int32_t first, int32_t second)
{
    gpointer key = GSIZE_TO_POINTER((gsize)(uint32_t)first << 32 | (uint32_t)second);
    int32_t found = GPOINTER_TO_INT(g_hash_table_lookup(table->pairs, key));
    if (found == 0) {
        found = ++table->n;
        g_hash_table_insert(table->pairs, key, GINT_TO_POINTER(found));
    }
    return found - 1;
}

Tokens ngrams_words(NgramTable *table, const char *text)
{
    g_autoptr(GArray) ids = g_array_sized_new(FALSE, FALSE, sizeof(int32_t), 64);
    const char *at = text, *word;
    size_t bytes;
    while (python_next_word(&at, &word, &bytes)) {
        int32_t id = ngrams_token(table, word, bytes);
        g_array_append_val(ids, id);
    }
    int64_t n = ids->len;
    return (Tokens){ (int32_t *)g_array_steal(ids, NULL), n };
}

Tokens ngrams_characters(NgramTable *table, const char *text)
{
    Tokens out = { g_new(int32_t, (gsize)g_utf8_strlen(text, -1)), 0 };
    for (const char *at = text; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);
        if (!python_is_space(c))
            out.ids[out.n++] = join_grams(table, CHARACTER, (int32_t)c);
    }
    return out;
}

int64_t ngrams_lengthen(NgramTable *table, int32_t *ngrams, const Tokens *tokens, int order)
{
    int64_t n = MAX(tokens->n - order + 1, 0);
    for (int64_t i = 0; order > 1 && i < n; i++)
        ngrams[i] = join_grams(table, ngrams[i], tokens->ids[i + order - 1]);
    return n;
}

int64_t ngrams_common(const NgramTable *table, const int32_t *a, int64_t n_a, const int32_t *b, int64_t n_b)
{
    g_autofree int32_t *left = g_new0(int32_t, (gsize)table->n);
    int64_t common = 0;
    for (int64_t i = 0; i < n_a; i++)
        left[a[i]]++;
    for (int64_t i = 0; i < n_b; i++)
        common += left[b[i]] > 0 && left[b[i]]-- > 0;
    return common;
}
