/* words.h: what byte-level tokenizers split text into before any merge: GPT-2's words by hand, those of other patterns
 * by PCRE2. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct Words Words;               /* read-only once open */
typedef struct WordsScratch WordsScratch; /* one for each thread */
typedef bool (*WordFn)(void *context, const char *word, size_t bytes);

#define WORDS_PATTERNS 8 /* the most that there may be */

/* `patterns` (char *) are applied one after the other, each to the words of the one before; a stretch that pattern i
 * does not match is a word too, or left out where bit i of `matches_only` is set. None at all: the whole text is one
 * word. */
Words *words_open(const GPtrArray *patterns, uint32_t matches_only, GError **error);
/* The pattern of GPT-2: 's 't 're 've 'm 'll 'd, or letters, numbers or others with one space before them, or white
 * space, of which the last character goes with what follows. */
Words *words_open_gpt2(void);
void words_close(Words *words);

WordsScratch *words_scratch_open(const Words *words);
void words_scratch_close(WordsScratch *scratch);

/* Calls fn with each word of UTF-8 text in turn; stops and returns false when it does, or when a pattern fails. */
bool words_each(const Words *words, WordsScratch *scratch, const char *text, size_t bytes, WordFn fn, void *context);
