/* tokenizer.h: text to token ids and back. */
#pragma once

#include "text/frame.h"
#include "text/roles.h"

#include <stdint.h>

typedef struct Tokenizer Tokenizer;

/* Opens a tokenizer's file, a folder that holds one, or "bytes" (ByT5). Tokens added by a tokenizer_config.json or
 * added_tokens.json in the same folder belong to it. Sentinels are those of the vocabulary: <extra_id_0>, <extra_id_1>,
 * …, or AST-T5's <sen001>, <sen002>, …; a SentencePiece model without them, without a beginning-of-sequence token and
 * without a mask, as T5's is, gets <extra_id_0..99> above its last piece. Thread-safe once open. */
Tokenizer *tokenizer_open(const char *path, GError **error);
/* Opens a rank file of tiktoken. pattern: the name of the regular expression that splits text into words: gpt2, cl100k
 * or o200k; NULL means the pattern of the published file with this number of ranks. layout: NULL means that ids are
 * ranks; "ast-t5" means <s>, <pad>, </s> and <unk>, then the ranks and the special tokens of the published file without
 * gaps, then <sen000> … <sen1023>. */
Tokenizer *tokenizer_open_ranks(const char *path, const char *pattern, const char *layout, GError **error);
/* Adds n sentinels above the last id, <extra_id_i> = size - 1 - i, unless the tokenizer already has sentinels. Not
 * thread-safe. */
void tokenizer_add_sentinels(Tokenizer *tok, int n);
/* Path of the file that tokenizer_open would read in a folder; NULL with an error if there is none or it cannot be
 * read. Free with g_free. */
char *tokenizer_find(const char *folder, GError **error);
/* Writes the tokenizer's own files into a folder, so that tokenizer_open of the folder opens the same tokenizer; added
 * tokens are written into a tokenizer_config.json. */
bool tokenizer_copy(const Tokenizer *tok, const char *folder, GError **error);
/* Removes from a folder every file that tokenizer_copy of any tokenizer could have written. */
bool tokenizer_remove(const char *folder, GError **error);
void tokenizer_close(Tokenizer *tok);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tokenizer, tokenizer_close)

const char *tokenizer_kind(const Tokenizer *tok); /* "sentencepiece-unigram", "sentencepiece-bpe", "wordpiece", … */
const char *tokenizer_path(const Tokenizer *tok); /* the file that it was read from */
int tokenizer_size(
    const Tokenizer *tok); /* number of ids, 0 to size - 1, including added tokens and sentinels; 32100 for T5 */
/* Id of the token with a role. Sources, in this order: the model's file, the files beside it, for cls, sep and mask the
 * pieces that have the role by convention. -1 if there is none. */
int tokenizer_role(const Tokenizer *tok, TokenRole role);
/* tokenizer_role for cls, sep and mask of an encoder. If the tokenizer lacks one of them, its substitute is returned:
 * eos for sep, sep for cls, <extra_id_0> for mask. */
int tokenizer_encoder_role(const Tokenizer *tok, TokenRole role);
#define tokenizer_pad(tok) tokenizer_role(tok, ROLE_PAD)
#define tokenizer_unk(tok) tokenizer_role(tok, ROLE_UNK)
#define tokenizer_bos(tok) tokenizer_role(tok, ROLE_BOS)
#define tokenizer_eos(tok) tokenizer_role(tok, ROLE_EOS)
/* The special tokens around a text that transformers adds by default: those of the post_processor of the tokenizer.json
 * or, without this file, of add_bos_token and add_eos_token of the tokenizer_config.json beside the tokenizer's file.
 */
const TextFrame *tokenizer_frame(const Tokenizer *tok);
/* The tokenizer_config.json beside the tokenizer's file; NULL means that there is none. It belongs to the tokenizer. */
const json_t *tokenizer_settings(const Tokenizer *tok);
int tokenizer_id(const Tokenizer *tok, const char *piece);  /* id of "[MASK]"; -1 if there is no such piece */
int tokenizer_sentinels(const Tokenizer *tok);              /* number of sentinels; 0 means none */
int tokenizer_sentinel(const Tokenizer *tok, int index);    /* id of a sentinel, counted from 0; -1 if there is none */
int tokenizer_sentinel_index(const Tokenizer *tok, int id); /* 3 for the id of <extra_id_3>; -1 for other ids */
/* Id of AST-T5's <sen000>, which starts and ends the targets of its objective; -1 if there is none. */
int tokenizer_target_end(const Tokenizer *tok);
const char *tokenizer_piece(const Tokenizer *tok, int id); /* "▁the"; "<extra_id_3>"; "" for an unused id */
/* xxh3-64, as 16 hexadecimal digits, of everything that the token ids of a corpus depend on: the tokenizer's files, the
 * settings beside them, added tokens that are not special. Datasets and checkpoints record it. */
const char *tokenizer_hash(const Tokenizer *tok);

/* Appends the ids of UTF-8 text to `ids` (GArray of int32_t); no EOS is added. With `specials` true, special tokens
 * written in the text ("<extra_id_0>", "[MASK]") become their ids; false, for corpora, encodes them as ordinary text.
 * Added tokens that are not special always become their ids. */
bool tokenizer_encode(const Tokenizer *tok, const char *text, size_t bytes, bool specials, GArray *ids, GError **error);
/* tokenizer_encode, which also appends the end of every token in the text to `ends` (GArray of uint32_t; byte offsets,
 * ascending): token i stands for bytes [ends[i - 1], ends[i]) of the text, the first token for bytes [0, ends[0]).
 * White space that normalization drops belongs to the token after it, at the end of the text to the last token. If
 * normalization replaced a character ("ﬁ" by "fi"), all of its bytes belong to the first token with a part of the
 * replacement. */
bool tokenizer_encode_ends(const Tokenizer *tok, const char *text, size_t bytes, bool specials, GArray *ids,
                           GArray *ends, GError **error);
/* Returns the text of n ids. Sentinels become "<extra_id_i>"; pad, eos and ids outside the vocabulary are left out.
 * Free with g_free. */
char *tokenizer_decode(const Tokenizer *tok, const int32_t *ids, int64_t n, GError **error);
/* tokenizer_decode for the output of a model: special tokens of the frame at its start (TextFrame.before) are left out.
 */
char *tokenizer_decode_answer(const Tokenizer *tok, const GArray *ids, GError **error);

/* Writes a tokenizer.json that gives Hugging Face's tokenizers library the same ids; sentinels are added tokens. */
bool tokenizer_write_json(const Tokenizer *tok, const char *path, GError **error);
bool tokenizer_has_json(const Tokenizer *tok); /* whether tokenizer_write_json can write this tokenizer */
/* tokenizer_write_json with another post_processor, whose reference is taken; NULL means the tokenizer's own. */
bool tokenizer_write_json_with(const Tokenizer *tok, const char *path, json_t *post_processor, GError **error);
