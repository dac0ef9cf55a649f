/* wordpiece_train.c: trains vocab.txt, BERT's file, with the tokenizer_config.json that says how text is treated. */
#include "base/file.h"
#include "text/vocab_builder/vocab_builder.h"
#include "text/wordpiece/bert_text.h"
#include "text/wordpiece/wordpiece.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX            "##"
#define STANDARD_ALPHABET 1000

/* ---- words ---- */

/* Longer words are unknown to the encoder whatever its vocabulary. */
static void add_word(void *words, const BertWord *word)
{
    if (word->n_chars <= WORDPIECE_CHARS)
        word_table_add(words, word->text, word->bytes, 1);
}

static void split(const void *context, const char *text, size_t bytes, WordTable *words)
{
    bert_text_words(context, WORDPIECE_CHARS, text, bytes, add_word, words);
}

/* ---- the alphabet ---- */

typedef struct Letter {
    gunichar c;
    int64_t count;
    int32_t first, inner; /* ids at the beginning of a word and within, or -1 */
} Letter;

static int by_count(const void *a, const void *b)
{
    const Letter *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->c > y->c) - (x->c < y->c);
}

static int by_code_point(const void *a, const void *b)
{
    const Letter *x = a, *y = b;
    return (x->c > y->c) - (x->c < y->c);
}

/* NULL if the letter is not in the alphabet, which is sorted by code point. */
static Letter *find_letter(const GArray *alphabet, gunichar c)
{
    return bsearch(&(Letter){ .c = c }, alphabet->data, alphabet->len, sizeof(Letter), by_code_point);
}

/* The `limit` most frequent characters; of equally frequent ones those of the lower code points. */
static GArray *find_alphabet(const WordTable *words, guint limit)
{
    GArray *letters = g_array_new(FALSE, FALSE, sizeof(Letter));
    g_autoptr(GHashTable) places = g_hash_table_new(NULL, NULL); /* c -> index + 1 */
    for (size_t i = 0; i < words->n; i++) {
        const char *at = word_table_word(words, i), *end = at + words->entries[i].bytes;
        for (; at < end; at = g_utf8_next_char(at)) {
            gpointer c = GUINT_TO_POINTER(g_utf8_get_char(at));
            guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, c));
            if (place == 0) {
                Letter letter = { .c = g_utf8_get_char(at), .first = -1, .inner = -1 };
                g_array_append_val(letters, letter);
                place = letters->len;
                g_hash_table_insert(places, c, GUINT_TO_POINTER(place));
            }
            g_array_index(letters, Letter, place - 1).count += words->entries[i].count;
        }
    }
    qsort(letters->data, letters->len, sizeof(Letter), by_count);
    g_array_set_size(letters, MIN(letters->len, limit));
    qsort(letters->data, letters->len, sizeof(Letter), by_code_point);
    return letters;
}

static bool is_spelled(const GArray *alphabet, const char *at, const char *end)
{
    while (at < end && find_letter(alphabet, g_utf8_get_char(at)))
        at = g_utf8_next_char(at);
    return at == end;
}

/* Marks the letters that occur within words. */
static void mark_inner(const GArray *alphabet, const WordTable *words)
{
    for (size_t i = 0; i < words->n; i++) {
        const char *at = word_table_word(words, i), *end = at + words->entries[i].bytes;
        if (is_spelled(alphabet, at, end))
            while ((at = g_utf8_next_char(at)) < end)
                find_letter(alphabet, g_utf8_get_char(at))->inner = 0;
    }
}

static int32_t add_letter(VocabBuilder *pieces, const char *prefix, gunichar c)
{
    char utf8[7] = { 0 };
    g_unichar_to_utf8(c, utf8);
    g_autofree char *name = g_strconcat(prefix, utf8, NULL);
    return vocab_builder_add(pieces, name);
}

/* Every letter as the beginning of a word, then those that occur within words with the prefix. */
static bool add_alphabet(VocabBuilder *pieces, GArray *alphabet, GError **error)
{
    const TokenizerTraining *training = pieces->training;
    Letter *letters = (Letter *)(void *)alphabet->data;
    for (guint i = 0; i < alphabet->len; i++)
        letters[i].first = add_letter(pieces, "", letters[i].c);
    for (guint i = 0; i < alphabet->len; i++)
        if (letters[i].inner >= 0)
            letters[i].inner = add_letter(pieces, PREFIX, letters[i].c);
    return (int)pieces->names->len <= training->vocab_size ||
           fail_user(error,
                     "a vocabulary of %d is too small: %d special tokens, and %u characters at the beginning of words "
                     "and within, make %u; --limit-alphabet makes them fewer",
                     training->vocab_size, pieces->n_specials, alphabet->len, pieces->names->len);
}

/* ---- training ---- */

/* Words with a character outside the alphabet are unknown to the encoder, and teach nothing. */
static void learn(VocabBuilder *pieces, const WordTable *words, const GArray *alphabet)
{
    MergeLearner *learner = merge_learner_open(words->n, words->text_bytes);
    for (size_t i = 0; i < words->n; i++) {
        const char *at = word_table_word(words, i), *end = at + words->entries[i].bytes;
        int32_t symbols[WORDPIECE_CHARS];
        size_t n = 0;
        if (!is_spelled(alphabet, at, end))
            continue;
        for (; at < end; at = g_utf8_next_char(at)) {
            const Letter *letter = find_letter(alphabet, g_utf8_get_char(at));
            symbols[n] = n == 0 ? letter->first : letter->inner;
            n++;
        }
        merge_learner_add(learner, symbols, n, words->entries[i].count);
    }
    vocab_builder_learn(pieces, learner);
    merge_learner_close(learner);
}

/* vocab.txt comes last, for a folder is known by it. */
static bool write_files(const VocabBuilder *pieces, GError **error)
{
    g_autofree char *path = g_build_filename(pieces->training->out, "vocab.txt", NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint id = 0; id < pieces->names->len; id++)
        g_string_append_printf(text, "%s\n", (char *)pieces->names->pdata[id]);
    json_t *config = json_pack("{s:b}", "do_lower_case", (int)pieces->training->lowercase);
    return vocab_builder_write_config(pieces, config, error) && io_write_file(path, text->str, text->len, error);
}

static bool make_vocabulary(VocabBuilder *pieces, const WordTable *words, GError **error)
{
    int limit = pieces->training->limit_alphabet;
    g_autoptr(GArray) alphabet = find_alphabet(words, (guint)(limit ? limit : STANDARD_ALPHABET));
    mark_inner(alphabet, words);
    if (!add_alphabet(pieces, alphabet, error))
        return false;
    learn(pieces, words, alphabet);
    return write_files(pieces, error);
}

static bool train(const TokenizerTraining *training, TokenizerText next, void *context, GError **error)
{
    static const char *const standard[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", NULL };
    VocabBuilder pieces;
    WordTable words;
    const BertText *text = bert_text_of((BertTextOptions){ true, true, training->lowercase, training->lowercase });
    WordSplitter splitter = { text, split };
    word_table_init(&words);
    bool ok = vocab_builder_init(&pieces, training, PREFIX, standard, error);
    if (ok && vocab_builder_id(&pieces, "[UNK]") < 0)
        ok = fail_user(error, "the special tokens of WordPiece lack [UNK], which stands for unknown words");
    ok = ok && vocab_builder_count(&pieces, &splitter, &words, next, context, error) &&
         make_vocabulary(&pieces, &words, error);
    word_table_clear(&words);
    vocab_builder_clear(&pieces);
    return ok;
}

const TokenizerTrainer trainer_wordpiece = { "wordpiece", TRAINER_WORDS | TRAINER_BERT, "vocab.txt", SPELLING_WORDPIECE,
                                             train };
