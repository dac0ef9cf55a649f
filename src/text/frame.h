/* frame.h: frames: the special tokens around a text, or around the two texts of a pair, such as "[CLS] A [SEP]" and
 * "[CLS] A [SEP] B [SEP]". transformers adds them by default when it encodes a text. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

typedef struct Tokenizer Tokenizer;

#define FRAME_MOST 8 /* largest number of special tokens in one position of a frame */

/* The special tokens in one position of a frame: n ids. */
typedef struct FrameTokens {
    int32_t n, ids[FRAME_MOST];
} FrameTokens;

/* A frame. A text A gets: before, A, after. A pair of texts A and B gets: before, A, between, B, last. */
typedef struct TextFrame {
    FrameTokens before, after; /* before a text or a pair; after a single text */
    FrameTokens between, last; /* between the texts of a pair; after the second text */
} TextFrame;

/* The frame "begin A end" and, for a pair, "begin A end B end". begin, end: ids of special tokens; -1 means no token.
 * doubled: true means two tokens `end` between the texts of a pair, as RoBERTa has: <s> A </s></s> B </s>. */
TextFrame frame_of(int32_t begin, int32_t end, bool doubled);
/* Reads a frame from the post_processor of a tokenizer.json; NULL gives an empty frame. Special tokens that are not in
 * the tokenizer's vocabulary are left out. */
bool frame_read(TextFrame *frame, const json_t *post_processor, const Tokenizer *tok, GError **error);
/* The frame that add_bos_token and add_eos_token of a tokenizer_config.json describe; transformers uses these if there
 * is no tokenizer.json. NULL gives an empty frame. */
TextFrame frame_of_flags(const json_t *config, const Tokenizer *tok);
/* Whether the frame has no tokens. */
bool frame_is_empty(const TextFrame *frame);
bool frame_equal(const TextFrame *a, const TextFrame *b);
/* Appends the ids of special tokens to `ids` (int32_t). */
void frame_append(GArray *ids, const FrameTokens *tokens);
/* Builds the post_processor of a tokenizer.json for a frame: the inverse of frame_read. typed: true means that the
 * second text of a pair has token type 1. Returns a new reference; JSON null for an empty frame. */
json_t *frame_json(const TextFrame *frame, bool typed, const Tokenizer *tok);
