/* wordpiece/train.c: trains a WordPiece tokenizer and writes BERT's vocab.txt, with a tokenizer_config.json that holds
 * do_lower_case and the special tokens. */
#include "base/file.h"
#include "text/vocab_builder/vocab_builder.h"
#include "text/wordpiece/bert_text.h"
#include "text/wordpiece/wordpiece.h"

#include <stdlib.h>

#define PREFIX           "##"
#define DEFAULT_ALPHABET 1000

/* ---- words ---- */

/* Longer words are not counted: the tokenizer makes them [UNK] whatever the vocabulary. */
static void count_bert_word(void *context, const BertWord *word)
{
    WordTable *words = context;
    if (word->n_chars <= WORDPIECE_CHARS)
        word_table_add(words, word->text, word->bytes, 1);
    else
        words->left_out++;
}

static void split_into_bert_words(const void *context, const char *text, size_t bytes, WordTable *words)
{
    bert_text_words(context, WORDPIECE_CHARS, text, bytes, count_bert_word, words);
}

/* ---- the alphabet ---- */

typedef struct Letter {
    gunichar c;
    int64_t count;
    int32_t first, inner; /* ids of its pieces at the start of a word and inside; -1 means none */
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

/* The entry of a character in the alphabet, which is sorted by code point; NULL if it is not there. */
static Letter *find_letter(const GArray *alphabet, gunichar c)
{
    return bsearch(&(Letter){ .c = c }, alphabet->data, alphabet->len, sizeof(Letter), by_code_point);
}

/* The `limit` most frequent characters; of equally frequent ones those of the lower code points. */
static GArray *find_alphabet(const WordTable *words, guint limit)
{
    GArray *letters = g_array_new(FALSE, FALSE, sizeof(Letter));
    g_autoptr(GHashTable) indices = g_hash_table_new(NULL, NULL); /* c -> index + 1 */
    for (size_t i = 0; i < words->n; i++) {
        const char *at = word_table_word(words, i), *end = at + words->entries[i].bytes;
        for (; at < end; at = g_utf8_next_char(at)) {
            gpointer c = GUINT_TO_POINTER(g_utf8_get_char(at));
            guint index = GPOINTER_TO_UINT(g_hash_table_lookup(indices, c));
            if (index == 0) {
                Letter letter = { .c = g_utf8_get_char(at), .first = -1, .inner = -1 };
                g_array_append_val(letters, letter);
                index = letters->len;
                g_hash_table_insert(indices, c, GUINT_TO_POINTER(index));
            }
            g_array_index(letters, Letter, index - 1).count += words->entries[i].count;
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

/* Sets `inner` to 0 for letters that occur inside words, after the first character. */
static void mark_inner(const GArray *alphabet, const WordTable *words)
{
    for (size_t i = 0; i < words->n; i++) {
        const char *at = word_table_word(words, i), *end = at + words->entries[i].bytes;
        if (is_spelled(alphabet, at, end))
            while ((at = g_utf8_next_char(at)) < end)
                find_letter(alphabet, g_utf8_get_char(at))->inner = 0;
    }
}

static int32_t add_letter(VocabBuilder *builder, const char *prefix, gunichar c)
{
    char utf8[7] = { 0 };
    g_unichar_to_utf8(c, utf8);
    g_autofree char *name = g_strconcat(prefix, utf8, NULL);
    return vocab_builder_add(builder, name);
}

/* Adds a piece for every letter at the start of a word, then one with the prefix for each that occurs inside words. */
static bool add_alphabet(VocabBuilder *builder, GArray *alphabet, GError **error)
{
    const TokenizerTraining *training = builder->training;
    Letter *letters = (Letter *)(void *)alphabet->data;
    for (guint i = 0; i < alphabet->len; i++)
        letters[i].first = add_letter(builder, "", letters[i].c);
    for (guint i = 0; i < alphabet->len; i++)
        if (letters[i].inner >= 0)
            letters[i].inner = add_letter(builder, PREFIX, letters[i].c);
    return (int)builder->names->len <= training->vocab_size ||
           fail_user(error,
                     "a vocabulary of %d is too small: %d special tokens, and %u characters at the beginning of words "
                     "and within, make %u; --limit-alphabet makes them fewer",
                     training->vocab_size, builder->n_specials, alphabet->len, builder->names->len);
}

/* ---- training ---- */

/* Words with a character outside the alphabet are left out: the tokenizer makes them [UNK]. */
static void learn_pieces(VocabBuilder *builder, const WordTable *words, const GArray *alphabet)
{
    g_autoptr(MergeLearner) learner = merge_learner_open(words->n, words->text_bytes);
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
    vocab_builder_learn(builder, learner);
}

/* vocab.txt is written last: a folder that has it holds a whole tokenizer. */
static bool write_wordpiece_files(const VocabBuilder *builder, GError **error)
{
    g_autofree char *path = g_build_filename(builder->training->out, "vocab.txt", NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint id = 0; id < builder->names->len; id++)
        g_string_append_printf(text, "%s\n", (char *)builder->names->pdata[id]);
    json_t *config = json_pack("{s:b}", "do_lower_case", (int)builder->training->lowercase);
    return vocab_builder_write_config(builder, config, error) && io_write_file(path, text->str, text->len, error);
}

static bool make_vocabulary(VocabBuilder *builder, GError **error)
{
    const WordTable *words = &builder->words;
    int limit = builder->training->limit_alphabet;
    g_autoptr(GArray) alphabet = find_alphabet(words, (guint)(limit ? limit : DEFAULT_ALPHABET));
    mark_inner(alphabet, words);
    if (!add_alphabet(builder, alphabet, error))
        return false;
    learn_pieces(builder, words, alphabet);
    return write_wordpiece_files(builder, error);
}

static bool train_wordpiece(const TokenizerTraining *training, TokenizerText next, void *context, GError **error)
{
    static const char *const bert[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", NULL };
    g_auto(VocabBuilder) builder = { 0 };
    const BertText *text = bert_text_of((BertTextOptions){ true, true, training->lowercase, training->lowercase });
    WordSplitter splitter = { text, split_into_bert_words, "100 characters" };
    if (!vocab_builder_init(&builder, training, PREFIX, bert, error))
        return false;
    if (vocab_builder_id(&builder, "[UNK]") < 0)
        return fail_user(error, "the special tokens of WordPiece lack [UNK], which stands for unknown words");
    return word_count(&builder.words, &splitter, training->workers, training->memory << 20, next, context, error) &&
           make_vocabulary(&builder, error);
}

const TokenizerTrainer trainer_wordpiece = { "wordpiece", TRAINER_WORDS | TRAINER_BERT, "vocab.txt", SPELLING_WORDPIECE,
                                             train_wordpiece };
