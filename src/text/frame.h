/* frame.h: the special tokens that stand around a text, or around the two texts of a pair, such as
 * "[CLS] A [SEP]" and "[CLS] A [SEP] B [SEP]": what transformers adds when it encodes a text with its defaults. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

typedef struct Tokenizer Tokenizer;

#define FRAME_MOST 8 /* most tokens in one place */

typedef struct FrameTokens {
    int32_t n, ids[FRAME_MOST];
} FrameTokens;

typedef struct TextFrame {
    FrameTokens before, after; /* before: in front of a text or of a pair; after: behind a single text */
    FrameTokens between, last; /* between the texts of a pair, and behind the second one */
} TextFrame;

/* The frame with the token `begin` in front and the token `end` behind each text; -1 means no token. doubled: two end
 * tokens between the texts of a pair, as RoBERTa has: <s> A </s></s> B </s>. */
TextFrame frame_of(int32_t begin, int32_t end, bool doubled);
/* Reads a frame from the post_processor of a tokenizer.json; NULL gives an empty frame. Pieces that the tokenizer lacks
 * are left out. */
bool frame_read(TextFrame *frame, const json_t *post_processor, const Tokenizer *tok, GError **error);
/* Reads add_bos_token and add_eos_token of a tokenizer_config.json, which transformers uses if there is no
 * tokenizer.json; NULL gives an empty frame. */
TextFrame frame_of_flags(const json_t *config, const Tokenizer *tok);
/* Whether the frame has no tokens. */
bool frame_is_empty(const TextFrame *frame);
bool frame_equal(const TextFrame *a, const TextFrame *b);
/* Appends the tokens to ids (int32_t). */
void frame_append(GArray *ids, const FrameTokens *tokens);
/* The post_processor of a tokenizer.json from which frame_read reads this frame. typed: the second text of a pair has
 * token type 1. New reference; JSON null for an empty frame. */
json_t *frame_json(const TextFrame *frame, bool typed, const Tokenizer *tok);
/* "[CLS] A [SEP]": a text A in its frame, as pieces. Free with g_free. */
char *frame_text(const TextFrame *frame, const Tokenizer *tok);
