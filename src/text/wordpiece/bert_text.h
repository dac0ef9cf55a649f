/* bert_text.h: what BERT does to text before it looks for word pieces: BertNormalizer and BertPreTokenizer of Hugging
 * Face's tokenizers, character by character. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct BertTextOptions {
    bool clean_text;           /* drop control characters; every white space is a space */
    bool handle_chinese_chars; /* each is a word of its own */
    bool strip_accents;
    bool lowercase;
} BertTextOptions;

#define BERT_TEXT_ROOM 32 /* bytes that one character can become, with its length */

typedef struct BertText BertText;

/* Made when it is first asked for, and kept: there are sixteen. Any thread may ask. */
const BertText *bert_text_of(BertTextOptions options);

/* What a character becomes: a length byte and UTF-8, in which a space ends a word; punctuation and Chinese characters
 * have spaces around them. `room` has BERT_TEXT_ROOM bytes and may be what is returned. */
const uint8_t *bert_text_map(const BertText *text, gunichar c, uint8_t *room);

/* Text as BertNormalizer leaves it: what the characters become, but for the spaces around punctuation. g_free. */
char *bert_text_normalize(const BertText *text, const char *chars, size_t bytes);

#define BERT_TEXT_MAX_CHARS 1000 /* of a word that is kept whole, at most */
#define WORDPIECE_CHARS     100  /* characters of a word that WordPiece splits, where no file says otherwise */

/* A word, no longer than max_chars; of a longer one n_chars is right and the text only its beginning. */
typedef struct BertWord {
    char text[4 * BERT_TEXT_MAX_CHARS + BERT_TEXT_ROOM];
    size_t bytes;
    int n_chars;
} BertWord;
typedef void (*BertWordFn)(void *context, const BertWord *word);

/* Calls fn with each word of UTF-8 text in turn; max_chars <= BERT_TEXT_MAX_CHARS. */
void bert_text_words(const BertText *text, int max_chars, const char *from, size_t bytes, BertWordFn fn, void *context);
