/* wordpiece/bert_text.h: BertNormalizer and BertPreTokenizer of Hugging Face's tokenizers: they split text into the
 * words that WordPiece encodes. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The options of BertNormalizer. */
typedef struct BertTextOptions {
    bool clean_text;           /* drop control characters, replace all white space by spaces */
    bool handle_chinese_chars; /* put spaces around Chinese characters */
    bool strip_accents;
    bool lowercase;
} BertTextOptions;

typedef struct BertText BertText; /* a table of the text that each character becomes with some options; read-only */

/* The table for one of the sixteen combinations of options: made at the first call, never freed. Thread-safe. */
const BertText *bert_text_of(BertTextOptions options);

/* UTF-8 text normalized as by BertNormalizer; free with g_free. */
char *bert_text_normalize(const BertText *text, const char *chars, size_t bytes);

#define BERT_TEXT_CHAR_BYTES 32   /* a length byte and the text that a character becomes */
#define BERT_TEXT_MAX_CHARS  1000 /* largest max_chars */
#define WORDPIECE_CHARS      100  /* default of max_input_chars_per_word: longer words are unknown */

/* The characters that c becomes: a length byte and UTF-8, in which a space ends a word. `room` (BERT_TEXT_CHAR_BYTES):
 * memory that the result may use. */
const uint8_t *bert_text_char(const BertText *text, gunichar c, uint8_t *room);

/* A normalized word, cut after max_chars characters. */
typedef struct BertWord {
    char text[4 * BERT_TEXT_MAX_CHARS + BERT_TEXT_CHAR_BYTES];
    size_t bytes; /* length of `text` */
    int n_chars;  /* length of the whole word, before it was cut */
} BertWord;
typedef void (*BertWordFn)(void *context, const BertWord *word);

/* Normalizes and splits UTF-8 text and calls fn with each word in order; see BertWord for max_chars. */
void bert_text_words(const BertText *text, int max_chars, const char *from, size_t bytes, BertWordFn fn, void *context);
