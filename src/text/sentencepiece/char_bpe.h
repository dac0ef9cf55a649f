/* sentencepiece/char_bpe.h: byte-pair encoding that starts from characters, with the merges of a tokenizer.json. */
#pragma once

#include "text/sentencepiece/viterbi.h"
#include "text/tokenizer_json.h"

typedef struct CharBpe CharBpe; /* read-only once open; thread-safe */

/* Reads the merges. trie: maps the text of a piece to its id. */
CharBpe *char_bpe_open(const TokenizerJson *json, const Trie *trie, GError **error);
void char_bpe_close(CharBpe *bpe);
/* Appends the ids (int32_t) of a word. pieces: the ids of characters, and of bytes for characters without a piece. */
void char_bpe_encode(const CharBpe *bpe, const Viterbi *pieces, const char *word, size_t bytes, GArray *ids);
