/* vocab_builder/vocab_builder.h: counts words and learns merges, to train byte-level BPE and WordPiece. */
#pragma once

#include "text/tokenizer_train.h"
#include "text/word_table.h"

/* ---- merge_learner.c: learns the merges of BPE and WordPiece (Sennrich et al. 2016): again and again the most
 * frequent pair of neighbouring symbols becomes one. Input: words, each symbols with a count ---- */

typedef struct MergeLearner MergeLearner;

#define MERGE_NOT  (-1) /* do not merge this pair */
#define MERGE_STOP (-2) /* stop learning */

/* The symbol, new or existing, that a pair that occurs `count` times becomes; or MERGE_NOT or MERGE_STOP. */
typedef int32_t (*MergeFn)(void *context, int32_t left, int32_t right, int64_t count);

/* Limit of words and symbols: lists of up to three entries per symbol have 32-bit indices. */
#define MERGE_MAX_SYMBOLS ((size_t)1 << 30)

/* A learner for n_words words of n_symbols symbols in total at most; n_words + n_symbols < MERGE_MAX_SYMBOLS. */
MergeLearner *merge_learner_open(size_t n_words, size_t n_symbols);
void merge_learner_close(MergeLearner *learner);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MergeLearner, merge_learner_close)
/* Adds a word of n symbols that occurs `count` times. */
void merge_learner_add(MergeLearner *learner, const int32_t *symbols, size_t n, int64_t count);
/* Calls `merge` with the most frequent pair, merges it in all words, and repeats, until `merge` returns MERGE_STOP or
 * no pair occurs min_count times. Of equally frequent pairs the one with the smaller left, then the smaller right
 * symbol comes first, so the result does not depend on the order of the words. Each of the overlapping pairs in "a a a"
 * is counted; they are merged from the left.
 *
 * A merged pair may form again later, since symbols arise in several ways (ab + c and a + bc): it is then merged at
 * once, as an encoder would do. */
void merge_learner_run(MergeLearner *learner, int64_t min_count, MergeFn merge, void *context);

/* ---- the vocabulary (vocab_builder.c) ---- */

/* The normalizer and pre-tokenizer of the tokenizer that is being trained. */
typedef struct WordSplitter {
    const void *context; /* shared by all threads, read-only */
    /* Adds every word of UTF-8 text to the table, with a count of 1 for each occurrence; one that is longer than
     * `longest` says only counts as WordTable.left_out. */
    void (*split)(const void *context, const char *text, size_t bytes, WordTable *words);
    const char *longest; /* "100 characters" */
} WordSplitter;

/* A merge of two pieces. */
typedef struct VocabMerge {
    int32_t left, right; /* ids of the two pieces */
} VocabMerge;

typedef struct VocabBuilder {
    const TokenizerTraining *training;
    const char *prefix; /* prefix of pieces inside a word: "##" for WordPiece, "" for BPE */
    GPtrArray *names;   /* char *: the pieces, indexed by id */
    GHashTable *ids;    /* piece -> id + 1 */
    GArray *merges;     /* VocabMerge in the order in which they were learned */
    int n_specials;     /* ids 0 to n_specials - 1 are special tokens */
    WordTable words;    /* the words of the texts, after word_count */
} VocabBuilder;

/* Initialises a vocabulary of special tokens: training->special_tokens or, if that is NULL, default_specials
 * (NULL-terminated). Call vocab_builder_clear also after a failure. */
bool vocab_builder_init(VocabBuilder *builder, const TokenizerTraining *training, const char *prefix,
                        const char *const *default_specials, GError **error);
void vocab_builder_clear(VocabBuilder *builder);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(VocabBuilder, vocab_builder_clear)
int32_t vocab_builder_add(VocabBuilder *builder, const char *name); /* id of a piece; a missing piece is added */
/* Id of a piece; -1 if there is no such piece. */
int32_t vocab_builder_id(const VocabBuilder *builder, const char *name);
/* Writes training->out/tokenizer_config.json: special tokens, roles, and `config`, whose reference is taken over. */
bool vocab_builder_write_config(const VocabBuilder *builder, json_t *config, GError **error);
/* Learns merges until the vocabulary has training->vocab_size pieces; then adds training->sentinels sentinels. A pair
 * is not merged if the result would be a special token, or longer than training->max_piece. */
void vocab_builder_learn(VocabBuilder *builder, MergeLearner *learner);

/* ---- word_count.c: counts a corpus's words with many threads in bounded memory; their number changes no count ---- */

/* Adds the words of all texts to an initialised table. workers: number of threads; 0 means one per core. memory: bytes
 * (0 means 2 GiB) that the words may use, in the table and later in the merge learner. When the table needs more, the
 * words that were rarest so far are removed; this happens after the same text in every run. If a removed word occurs
 * again, its count is too low; a warning gives the largest possible error. Words that were left out are logged. A
 * corpus without words, and text that is not UTF-8, are user's errors. */
bool word_count(WordTable *words, const WordSplitter *splitter, int workers, int64_t memory, TokenizerText next,
                void *context, GError **error);
