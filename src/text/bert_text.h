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

BertText *bert_text_open(BertTextOptions options);
void bert_text_close(BertText *text);

/* What a character becomes: a length byte and UTF-8, in which a space ends a word; punctuation and Chinese characters
 * have spaces around them. `room` has BERT_TEXT_ROOM bytes and may be what is returned. */
const uint8_t *bert_text_map(const BertText *text, gunichar c, uint8_t *room);

/* Text as BertNormalizer leaves it: what the characters become, but for the spaces around punctuation. g_free. */
char *bert_text_normalize(const BertText *text, const char *chars, size_t bytes);

/* For each ASCII character what it becomes within a word; 0 where it ends one or vanishes. */
const uint8_t *bert_text_ascii(const BertText *text);
