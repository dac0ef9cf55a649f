#include "text/kind.h"

#include "base/python_text.h"
#include "format/fairseq_dict.h"

enum { BOS, PAD, EOS, UNK }; /* fairseq's first ids */

typedef struct Words {
    FairseqDict *dict;
    GHashTable *ids; /* ids of words, made by fairseq_dict_ids */
} Words;

char *fairseq_next_word(char **at)
{
    const char *word, *end = *at;
    size_t bytes;
    if (!python_next_word(&end, &word, &bytes))
        return NULL;
    char *begin = *at + (word - *at);
    *at = *end ? g_utf8_next_char(begin + bytes) : begin + bytes;
    begin[bytes] = '\0';
    return begin;
}

static void close_words(void *opaque)
{
    Words *words = opaque;
    g_hash_table_unref(words->ids);
    fairseq_dict_free(words->dict);
    g_free(words);
}

static void *open_words(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error)
{
    FairseqDict *dict = fairseq_dict_parse(path, data, bytes, error);
    if (dict == NULL)
        return NULL;
    Words *words = g_new0(Words, 1);
    words->dict = dict;
    words->ids = fairseq_dict_ids(dict);
    *facts = (TokenizerFacts){ TOKENIZER_FACTS("fairseq-words", (int)fairseq_dict_size(dict), PAD, EOS, UNK, BOS),
                               .blank_space = BLANK_SPLITS };
    return words;
}

static int id_of_word(const void *opaque, const char *piece)
{
    gpointer id = NULL;
    return g_hash_table_lookup_extended(((const Words *)opaque)->ids, piece, NULL, &id) ? GPOINTER_TO_INT(id) : -1;
}

static const char *piece_of_word(const void *opaque, int id)
{
    const Words *words = opaque;
    return id < FAIRSEQ_SPECIALS ? fairseq_dict_special_symbol(id) : words->dict->symbols->pdata[id - FAIRSEQ_SPECIALS];
}

static bool encode_fairseq(const void *opaque, const char *text, size_t bytes, TextEdges edges, GArray *ids,
                           GError **error)
{
    (void)edges, (void)error;
    g_autofree char *copy = g_strndup(text, bytes);
    char *at = copy;
    for (char *word; (word = fairseq_next_word(&at));) {
        const int found = id_of_word(opaque, word);
        const int32_t id = found < 0 ? UNK : found;
        g_array_append_val(ids, id);
    }
    return true;
}

static bool decode_fairseq(const void *opaque, const int32_t *ids, int64_t n, TextEdges edges, GString *text,
                           G_GNUC_UNUSED GError **error)
{
    for (int64_t i = 0, written = edges.after_blank; i < n; i++)
        if (ids[i] != BOS)
            g_string_append_printf(text, "%s%s", written++ > 0 ? " " : "", piece_of_word(opaque, ids[i]));
    return true;
}

const TokenizerKind kind_fairseq_words = { TOKENIZER_KIND(close_words, id_of_word, piece_of_word, encode_fairseq,
                                                          decode_fairseq),
                                           TOKENIZER_OF_FILE("dict.txt", open_words) };
