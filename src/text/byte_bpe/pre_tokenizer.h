/* byte_bpe/pre_tokenizer.h: splits text into words; BPE merges only within a word. GPT-2's pattern is implemented by
 * hand, several times as fast as a regular expression; PCRE2 matches other patterns. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

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

PreTokenizerScratch *pre_tokenizer_scratch_open(const PreTokenizer *pre);
void pre_tokenizer_scratch_close(PreTokenizerScratch *scratch);

/* Calls fn with each word of UTF-8 text in order. Stops and returns false when fn returns false or a pattern exceeds
 * PCRE2's limits. For the splitter of GPT-2, scratch may be NULL. */
bool pre_tokenizer_each(const PreTokenizer *pre, PreTokenizerScratch *scratch, const char *text, size_t bytes,
                        WordFn fn, void *context);
