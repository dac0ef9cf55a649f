#include "format/fairseq_dict.h"

#include "base/file.h"

#include <string.h>

#define MAX_BYTES ((size_t)1 << 30)
#define OVERWRITE " #fairseq:overwrite"

static const char *const specials[FAIRSEQ_SPECIALS] = { "<s>", "<pad>", "</s>", "<unk>" };

FairseqDict *fairseq_dict_new(void)
{
    FairseqDict *dict = g_new0(FairseqDict, 1);
    dict->symbols = g_ptr_array_new_with_free_func(g_free);
    dict->counts = g_array_new(FALSE, FALSE, sizeof(int64_t));
    return dict;
}

void fairseq_dict_free(FairseqDict *dict)
{
    if (dict == NULL)
        return;
    g_ptr_array_unref(dict->symbols);
    g_array_unref(dict->counts);
    g_free(dict);
}

void fairseq_dict_add(FairseqDict *dict, const char *symbol, int64_t count)
{
    g_ptr_array_add(dict->symbols, g_strdup(symbol));
    g_array_append_val(dict->counts, count);
}

int64_t fairseq_dict_size(const FairseqDict *dict)
{
    return FAIRSEQ_SPECIALS + (int64_t)dict->symbols->len;
}

int fairseq_dict_special(const char *symbol)
{
    for (int i = 0; i < FAIRSEQ_SPECIALS; i++)
        if (strcmp(symbol, specials[i]) == 0)
            return i;
    return -1;
}

const char *fairseq_dict_special_symbol(int id)
{
    return specials[id];
}

/* A map from the special symbols to their ids. Its keys are borrowed. */
static GHashTable *special_ids(void)
{
    GHashTable *ids = g_hash_table_new(g_str_hash, g_str_equal);
    for (int i = 0; i < FAIRSEQ_SPECIALS; i++)
        g_hash_table_insert(ids, (char *)specials[i], GINT_TO_POINTER(i));
    return ids;
}

GHashTable *fairseq_dict_ids(const FairseqDict *dict)
{
    GHashTable *ids = special_ids();
    for (guint i = 0; i < dict->symbols->len; i++)
        g_hash_table_insert(ids, dict->symbols->pdata[i], GINT_TO_POINTER((int)i + FAIRSEQ_SPECIALS));
    return ids;
}

/* "SYMBOL COUNT" or "SYMBOL COUNT #fairseq:overwrite"; a symbol may contain spaces. The line is modified. */
static bool add_dict_line(FairseqDict *dict, GHashTable *seen, char *line, GError **error)
{
    bool overwrite = g_str_has_suffix(line, OVERWRITE);
    if (overwrite)
        line[strlen(line) - strlen(OVERWRITE)] = 0;
    char *space = strrchr(line, ' ');
    guint64 count;
    if (space == NULL || !g_ascii_string_to_unsigned(space + 1, 10, 0, G_MAXINT64, &count, NULL))
        return fail_user(error, "want a symbol, a space and a count");
    *space = 0;
    if (!overwrite && g_hash_table_contains(seen, line))
        return fail_user(error, "the symbol \"%s\" came before", line);
    fairseq_dict_add(dict, line, (int64_t)count);
    g_hash_table_add(seen, dict->symbols->pdata[dict->symbols->len - 1]);
    return true;
}

FairseqDict *fairseq_dict_read(const char *path, GError **error)
{
    size_t bytes;
    g_autofree char *text = io_read_regular(path, MAX_BYTES, &bytes, error);
    return text ? fairseq_dict_parse(path, text, bytes, error) : NULL;
}

FairseqDict *fairseq_dict_parse(const char *path, const char *data, size_t bytes, GError **error)
{
    if (!g_utf8_validate(data, (gssize)bytes, NULL))
        return fail_user(error, "%s: not UTF-8", path);
    g_autofree char *text = g_strndup(data, bytes);
    g_autoptr(FairseqDict) dict = fairseq_dict_new();
    g_autoptr(GHashTable) seen = special_ids();
    int number = 1;
    for (char *line = text, *end; *line != 0; line = end, number++) {
        end = line + strcspn(line, "\n");
        if (*end == '\n')
            *end++ = 0;
        if (!add_dict_line(dict, seen, line, error))
            return fail_context(error, "%s:%d", path, number);
    }
    return g_steal_pointer(&dict);
}

bool fairseq_dict_write(const FairseqDict *dict, const char *path, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GHashTable) seen = special_ids();
    for (guint i = 0; i < dict->symbols->len; i++) {
        char *symbol = dict->symbols->pdata[i];
        g_string_append_printf(text, "%s %" G_GINT64_FORMAT "%s\n", symbol, g_array_index(dict->counts, int64_t, i),
                               g_hash_table_add(seen, symbol) ? "" : OVERWRITE);
    }
    return io_write_file(path, text->str, text->len, error);
}
