/* wordpiece/bert_text.h: BertNormalizer and BertPreTokenizer of Hugging Face's tokenizers: text to the words that
 * WordPiece splits. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The options of BertNormalizer. */
typedef struct BertTextOptions {
    bool clean_text;           /* drop control characters, make all white space spaces */
    bool handle_chinese_chars; /* put spaces around Chinese characters */
    bool strip_accents;
    bool lowercase;
} BertTextOptions;

typedef struct BertText BertText; /* read-only tables for one combination of options */

/* Made at the first call for each of the sixteen combinations, and kept for ever. Thread-safe. */
const BertText *bert_text_of(BertTextOptions options);

/* UTF-8 text as BertNormalizer leaves it; g_free. */
char *bert_text_normalize(const BertText *text, const char *chars, size_t bytes);

#define BERT_TEXT_CHAR_BYTES 32   /* the most that one character becomes: a length byte and UTF-8 */
#define BERT_TEXT_MAX_CHARS  1000 /* the most characters of a word that are kept */
#define WORDPIECE_CHARS      100  /* default of max_input_chars_per_word: longer words are unknown */

/* The characters that c becomes: a length byte and UTF-8, in which a space ends a word. `room`: (BERT_TEXT_CHAR_BYTES)
 * memory that the result may lie in. */
const uint8_t *bert_text_char(const BertText *text, gunichar c, uint8_t *room);

/* A word. Of a word with more than max_chars characters, n_chars counts all but `text` holds only the first. */
typedef struct BertWord {
    char text[4 * BERT_TEXT_MAX_CHARS + BERT_TEXT_CHAR_BYTES];
    size_t bytes;
    int n_chars;
} BertWord;
typedef void (*BertWordFn)(void *context, const BertWord *word);

/* Normalizes and splits UTF-8 text and calls fn with each word in order; max_chars <= BERT_TEXT_MAX_CHARS. */
void bert_text_words(const BertText *text, int max_chars, const char *from, size_t bytes, BertWordFn fn, void *context);
