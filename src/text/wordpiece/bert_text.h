/* wordpiece/bert_text.h: does what BertNormalizer and BertPreTokenizer of Hugging Face's tokenizers do: normalizes text
 * and splits it into the words that WordPiece encodes. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The options of BertNormalizer. */
typedef struct BertTextOptions {
    bool clean_text;           /* drop control characters and replace all white space by spaces */
    bool handle_chinese_chars; /* put spaces around each Chinese character */
    bool strip_accents;
    bool lowercase;
} BertTextOptions;

typedef struct BertText BertText; /* read-only table: the text that each character becomes with certain options */

/* The table for these options. It is made at the first call with them and never freed. Thread-safe. */
const BertText *bert_text_of(BertTextOptions options);

/* Normalizes UTF-8 text as BertNormalizer does; free with g_free. */
char *bert_text_normalize(const BertText *text, const char *chars, size_t bytes);

#define BERT_TEXT_CHAR_BYTES 32   /* size of an entry: a length byte and the text that a character becomes */
#define BERT_TEXT_MAX_CHARS  1000 /* largest max_chars of bert_text_words */
#define WORDPIECE_CHARS      100  /* default of max_input_chars_per_word: a word with more characters becomes [UNK] */

/* The text that character c becomes: a length byte, then UTF-8, in which a space separates words. `room`
 * (BERT_TEXT_CHAR_BYTES) is memory that the result may use. */
const uint8_t *bert_text_char(const BertText *text, gunichar c, uint8_t *room);

/* A normalized word, cut after max_chars characters. */
typedef struct BertWord {
    char text[4 * BERT_TEXT_MAX_CHARS + BERT_TEXT_CHAR_BYTES];
    size_t bytes; /* length of `text` */
    int n_chars;  /* number of characters of the whole word, before it was cut */
} BertWord;
typedef void (*BertWordFn)(void *context, const BertWord *word);

/* Normalizes UTF-8 text and calls fn with its words in order, each cut after max_chars characters. */
void bert_text_words(const BertText *text, int max_chars, const char *from, size_t bytes, BertWordFn fn, void *context);
