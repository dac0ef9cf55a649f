/* sentencepiece/unigram_text.h: applies the normalizer and the pre_tokenizer of a tokenizer.json with a Unigram
 * model. */
#pragma once

#include "text/kind.h"

#include <jansson.h>

typedef struct UnigramText UnigramText; /* read-only once open */

/* Reads both. normalizer, pre_tokenizer: the values of these keys in the tokenizer.json; NULL means that there is
 * none. */
UnigramText *unigram_text_open(json_t *normalizer, json_t *pre_tokenizer, GError **error);
void unigram_text_close(UnigramText *text);
/* To what spaces belong in the pieces. */
BlankSpace unigram_text_blank_space(const UnigramText *text);
/* Whether a space may be put before the first word of a text; decoding then removes it. */
bool unigram_text_prefixes(const UnigramText *text);
/* Applies only those steps of the normalizer that are character maps (type Precompiled) to UTF-8 text; free with
 * g_free. */
char *unigram_text_map(const UnigramText *text, const char *from, size_t bytes);
/* What takes the words of a text. */
typedef struct WordTaker {
    void (*fn)(void *context, const char *word, size_t bytes);
    void *context;
} WordTaker;

/* Normalizes and splits UTF-8 text and calls taker.fn with each word in order. edges: as in TokenizerKind.encode.
 * Unless map is NULL, *map becomes the offset map (text/offset_map.h) of the concatenated words; free with
 * g_array_unref. */
bool unigram_text_each(const UnigramText *text, const char *from, size_t bytes, TextEdges edges, WordTaker taker,
                       GArray **map, GError **error);
