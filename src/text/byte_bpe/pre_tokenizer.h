/* byte_bpe/pre_tokenizer.h: splits text into words, within which merges are applied. GPT-2's pattern is a hand-written
 * splitter, several times as fast as a regular expression; other patterns are matched by PCRE2. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct PreTokenizer PreTokenizer;               /* read-only once open */
typedef struct PreTokenizerScratch PreTokenizerScratch; /* working memory; each thread needs its own */
typedef bool (*WordFn)(void *context, const char *word, size_t bytes);

#define PRE_TOKENIZER_PATTERNS 8 /* the most patterns that one pre-tokenizer may have */

/* `patterns` (char *, regular expressions) are applied in order, each to the words that the one before made. Text
 * between two matches of pattern i is a word too, unless bit i of `matches_only` is set: then it is dropped. Without
 * patterns the whole text is one word. */
PreTokenizer *pre_tokenizer_open(const GPtrArray *patterns, uint32_t matches_only, GError **error);
/* GPT-2's pattern: 's 't 're 've 'm 'll 'd, or a run of letters, of numbers or of other characters each with at most
 * one space before it, or a run of white space, whose last space belongs to the next word. */
PreTokenizer *pre_tokenizer_open_gpt2(void);
void pre_tokenizer_close(PreTokenizer *pre);

PreTokenizerScratch *pre_tokenizer_scratch_open(const PreTokenizer *pre);
void pre_tokenizer_scratch_close(PreTokenizerScratch *scratch);

/* Calls fn with each word of UTF-8 text in order. Stops and returns false when fn returns false or a pattern exceeds
 * PCRE2's limits. For the splitter of GPT-2, scratch may be NULL. */
bool pre_tokenizer_each(const PreTokenizer *pre, PreTokenizerScratch *scratch, const char *text, size_t bytes,
                        WordFn fn, void *context);
