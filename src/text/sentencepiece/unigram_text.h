/* unigram_text.h: what a tokenizer.json with a Unigram model does to text before the model sees it: its normalizer and
 * its pre_tokenizer. */
#pragma once

#include "base/error.h"

#include <jansson.h>

typedef struct UnigramText UnigramText; /* read-only once open */

/* Either may be NULL. */
UnigramText *unigram_text_open(json_t *normalizer, json_t *pre_tokenizer, GError **error);
void unigram_text_close(UnigramText *text);
/* Whether text begins with a space that was not there. */
bool unigram_text_prefixes(const UnigramText *plan);
/* The normalizer's character map alone; g_free. */
char *unigram_text_map(const UnigramText *plan, const char *text, size_t bytes);
/* Calls fn with each word of UTF-8 text in turn, as the model gets it. `first`: the whole text begins here. */
bool unigram_text_each(const UnigramText *plan, const char *text, size_t bytes, bool first,
                       void (*fn)(void *context, const char *word, size_t bytes), void *context, GError **error);
