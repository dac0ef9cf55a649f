/* byte_bpe/model.h: a byte-level BPE model. vocab_merges.c, json.c and ranks.c read it from files; byte_bpe.c encodes
 * and decodes with it; write.c writes it as a tokenizer.json. */
#pragma once

#include "text/byte_bpe/byte_bpe.h"
#include "text/merges.h"
#include "text/normalizer.h"

/* ---- pre_tokenizer.c: splits text into words; BPE merges only within a word. GPT-2's pattern is implemented by hand,
 * several times as fast as a regular expression; PCRE2 matches other patterns ---- */

typedef struct PreTokenizer PreTokenizer;               /* read-only once open */
typedef struct PreTokenizerScratch PreTokenizerScratch; /* working memory; each thread needs its own */
/* Called with a word; false stops the splitting. */
typedef bool (*WordFn)(void *context, const char *word, size_t bytes);

#define PRE_TOKENIZER_PATTERNS 8 /* largest number of patterns of one pre-tokenizer */

/* A pre-tokenizer with these patterns (char *, regular expressions). They are applied in order: the first one splits
 * the text, each of the others splits the words that the one before it made. The matches of a pattern are words. Text
 * between two matches of pattern i is a word too, unless bit i of `matches_only` is set: then it is dropped. Without
 * patterns the whole text is one word. */
PreTokenizer *pre_tokenizer_open(const GPtrArray *patterns, uint32_t matches_only, GError **error);
/* The pre-tokenizer with GPT-2's pattern. A word is one of 's 't 're 've 'm 'll 'd; or a run of letters, of numbers or
 * of other characters, with the space before it if there is one; or a run of white space. If a word follows a run of
 * white space, the last space of the run belongs to that word. */
PreTokenizer *pre_tokenizer_open_gpt2(void);
void pre_tokenizer_close(PreTokenizer *pre);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PreTokenizer, pre_tokenizer_close)

PreTokenizerScratch *pre_tokenizer_scratch_open(const PreTokenizer *pre);
void pre_tokenizer_scratch_close(PreTokenizerScratch *scratch);

/* Calls fn with each word of UTF-8 text in order. Stops and returns false when fn returns false or a pattern exceeds
 * PCRE2's limits. For the splitter of GPT-2, scratch may be NULL. */
bool pre_tokenizer_each(const PreTokenizer *pre, PreTokenizerScratch *scratch, const char *text, size_t bytes,
                        WordFn fn, void *context);

/* ---- the model ---- */

typedef struct ByteBpe {
    GPtrArray *names; /* char *: names of pieces (byte_bpe_name), indexed by id; "" means that no piece has the id */
    GPtrArray *bytes; /* GBytes *: bytes of pieces, indexed by id; for an added token, its text */
    GHashTable *ids;  /* name -> id + 1 */
    int unk;          /* id for bytes without a piece; -1 means that such bytes are dropped */
    Merges *merges;
    GArray *pairs; /* int32_t: the merge of rank r merges the ids pairs[2 r] and pairs[2 r + 1]. NULL for tiktoken's
                      models: there any two pieces whose concatenated bytes are a piece may be merged, and the id of
                      that piece is the rank */
    PreTokenizer *pre_tokenizer;
    char *pattern;          /* for tiktoken's models, the pre-tokenizer's regular expression; otherwise NULL */
    bool whole_words;       /* "ignore_merges": a word that is a piece becomes that piece, without merging */
    bool add_prefix_space;  /* put a space in front of text that does not start with one */
    Normalizer *normalizer; /* NULL means that there is none */
    GArray *added;          /* AddedToken; their contents are strings of `names` */
    GAsyncQueue *scratches; /* pool of EncodeScratch * (take_scratch) */
} ByteBpe;

/* A model with these names of pieces (char *, indexed by id; NULL means that no piece has the id) and added tokens
 * (AddedToken; NULL means none). The caller sets merges and pre-tokenizer afterwards. */
ByteBpe *byte_bpe_new(const GPtrArray *names, const GArray *added);
void byte_bpe_free(void *model);
/* Sets the merges. pairs: two names of pieces (char *) per merge, by rank. Unknown names are an error. */
bool byte_bpe_set_merges(ByteBpe *model, const GPtrArray *pairs, GError **error);
/* Sets the merges of a tiktoken model: all splits of a piece into two others, with the piece's id as rank. */
void byte_bpe_derive_merges(ByteBpe *model);
int byte_bpe_id(const void *model, const char *name); /* id of the piece with this name; -1 if there is none */
/* The added token (AddedToken) with this id; NULL if the id is not an added token. */
const AddedToken *byte_bpe_added(const GArray *added, int id);
/* Sets the facts of a model (kind.h). */
void byte_bpe_facts(const ByteBpe *model, TokenizerFacts *facts);

/* The function TokenizerKind.to_json, for models that were not read from a tokenizer.json. */
json_t *byte_bpe_to_json(const void *model, const char *data, size_t bytes, GError **error);
/* TokenizerKind.open and .open_json: for vocab.json with merges.txt, a rank file of tiktoken, a tokenizer.json. */
void *byte_bpe_open_files(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error);
void *byte_bpe_open_ranks(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error);
void *byte_bpe_open_json(const TokenizerJson *json, TokenizerFacts *facts, GError **error);

/* ---- working memory for encoding: a call of encode takes one EncodeScratch from a pool and returns it afterwards, so
 * that any number of threads may encode with one model, and the cache of words is kept ---- */

#define CACHED_WORDS 32768 /* number of words in the cache of one EncodeScratch (2 MiB); a power of two */
#define CACHED_BYTES 30    /* only words of at most this length are cached */
#define CACHED_IDS   8     /* only words of at most this number of ids are cached */

/* A word and its ids; exactly one cache line of 64 bytes. */
typedef struct CachedWord {
    uint8_t bytes, n_ids; /* lengths of text and ids; bytes 0 means an empty entry */
    char text[CACHED_BYTES];
    int32_t ids[CACHED_IDS];
} CachedWord;

typedef struct EncodeScratch {
    PreTokenizerScratch *pre_tokenizer;
    MergesScratch *merges;
    CachedWord *cache; /* (CACHED_WORDS), indexed by a hash of the word */
} EncodeScratch;
