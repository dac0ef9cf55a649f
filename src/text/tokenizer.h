/* tokenizer.h: tokenizers: convert text to token ids and back. */
#pragma once

#include "text/frame.h"
#include "text/roles.h"

typedef struct Tokenizer Tokenizer;

/* Opens a tokenizer. path: its file, a folder with its file, or "bytes" (ByT5). Tokens that a tokenizer_config.json or
 * added_tokens.json in the same folder adds belong to the tokenizer. Its sentinels are the pieces <extra_id_0>,
 * <extra_id_1>, …, or AST-T5's <sen001>, <sen002>, …. A SentencePiece model that has no sentinels, no
 * beginning-of-sequence token and no mask, like T5's, gets <extra_id_0> to <extra_id_99> above its last piece.
 * Thread-safe once open. */
Tokenizer *tokenizer_open(const char *path, GError **error);
/* Opens a rank file of tiktoken. pattern: the name of the regular expression that splits text into words: gpt2, cl100k
 * or o200k; NULL means the pattern of the published file that has as many tokens. layout NULL: the id of a token is its
 * rank in the file. layout "ast-t5": ids 0 to 3 are <s>, <pad>, </s> and <unk>; then come all tokens of the file, then
 * the special tokens of the published file, without gaps, then <sen000> … <sen1023>. */
Tokenizer *tokenizer_open_ranks(const char *path, const char *pattern, const char *layout, GError **error);
/* Adds n sentinels above the last id, unless the tokenizer already has sentinels: <extra_id_i> gets the id size - 1 -
 * i, where size is the new number of ids. Not thread-safe. */
void tokenizer_add_sentinels(Tokenizer *tok, int n);
/* How text beside blanks, which are sentinels and the mask, is encoded. "corpus", the default: as in a corpus, in which
 * a word is in the place of the blank. "transformers": each text between blanks as a text of its own, as transformers
 * does with published tokenizers. It is a user's error if `blanks` is neither. A folder that tokenizer_copy writes
 * keeps it. Not thread-safe. */
bool tokenizer_set_blanks(Tokenizer *tok, const char *blanks, GError **error);
/* The path of the file that tokenizer_open would read in a folder; NULL with an error if there is no such file or it
 * cannot be read. Free with g_free. opened: becomes the tokenizer if finding it took opening it, else NULL; NULL means
 * that it is not wanted. */
char *tokenizer_find(const char *folder, Tokenizer **opened, GError **error);
/* Writes the files of the tokenizer into a folder, so that tokenizer_open of this folder opens the same tokenizer;
 * added tokens are written into a tokenizer_config.json. */
bool tokenizer_copy(const Tokenizer *tok, const char *folder, GError **error);
/* Removes from a folder every file that tokenizer_copy of any tokenizer could have written. */
bool tokenizer_remove(const char *folder, GError **error);
void tokenizer_close(Tokenizer *tok);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tokenizer, tokenizer_close)

const char *tokenizer_kind(const Tokenizer *tok); /* "sentencepiece-unigram", "sentencepiece-bpe", "wordpiece", … */
const char *tokenizer_path(const Tokenizer *tok); /* the file that the tokenizer was read from */
/* Number of ids, 0 to size - 1, including added tokens and sentinels; 32100 for T5. */
int tokenizer_size(const Tokenizer *tok);
/* How many of the last ids were appended for special tokens that settings name and the vocabulary lacks; those of a
 * class with special tokens of its own do not count. A model may have been trained without them. */
int tokenizer_appended(const Tokenizer *tok);
/* Removes the appended tokens if a model with this number of embedding rows has none for them. */
void tokenizer_fit(Tokenizer *tok, int64_t rows);
/* The id of the token with a role (roles.h); -1 if there is none. The role is taken from the file of the model;
 * otherwise from the settings files beside it; otherwise, for cls, sep and mask, it is a piece that has the role by
 * convention. Those of GPT-2 and RoBERTa (tokenizer_class.c) take it from the settings files, then from their class. */
int tokenizer_role(const Tokenizer *tok, TokenRole role);
/* As tokenizer_role, for cls, sep and mask of an encoder. If the tokenizer has no token with the role, a substitute is
 * returned: eos for sep, sep for cls, <extra_id_0> for mask. */
int tokenizer_encoder_role(const Tokenizer *tok, TokenRole role);
#define tokenizer_pad(tok) tokenizer_role(tok, ROLE_PAD)
#define tokenizer_unk(tok) tokenizer_role(tok, ROLE_UNK)
#define tokenizer_bos(tok) tokenizer_role(tok, ROLE_BOS)
#define tokenizer_eos(tok) tokenizer_role(tok, ROLE_EOS)
/* The frame (frame.h): the special tokens that transformers adds around a text by default. They come from the
 * post_processor of the tokenizer.json or, without this file, from add_bos_token and add_eos_token of the
 * tokenizer_config.json. RoBERTa's class has its own: <s> A </s></s> B </s>. */
const TextFrame *tokenizer_frame(const Tokenizer *tok);
/* The content of the tokenizer's tokenizer_config.json, beside its file; NULL means that there is no such file. */
const json_t *tokenizer_settings(const Tokenizer *tok);
/* Id of a piece, such as "[MASK]"; -1 if there is no such piece. */
int tokenizer_id(const Tokenizer *tok, const char *piece);
int tokenizer_sentinels(const Tokenizer *tok); /* number of sentinels; 0 means none */
/* Id of sentinel number `index`, counted from 0; -1 if there is none. */
int tokenizer_sentinel(const Tokenizer *tok, int index);
/* Number of the sentinel with this id: 3 for <extra_id_3>; -1 if the id is not a sentinel. */
int tokenizer_sentinel_index(const Tokenizer *tok, int id);
/* The id of AST-T5's <sen000>, which starts and ends the targets of its objective; -1 if there is no such piece. */
int tokenizer_target_end(const Tokenizer *tok);
/* The piece with an id: "▁the", "<extra_id_3>"; "" for an unused id. */
const char *tokenizer_piece(const Tokenizer *tok, int id);
/* A hash (xxh3-64 as 16 hexadecimal digits) of everything that the token ids of a corpus depend on: the files of the
 * tokenizer, the settings beside them, added tokens that are not special. Datasets and checkpoints record it. */
const char *tokenizer_hash(const Tokenizer *tok);

/* Appends the ids of UTF-8 text to `ids` (GArray of int32_t); no EOS is added. specials: true means that special tokens
 * written in the text ("<extra_id_0>", "[MASK]") become their ids; false, for corpora, means that they are encoded as
 * ordinary text. Added tokens that are not special always become their ids. */
bool tokenizer_encode(const Tokenizer *tok, const char *text, size_t bytes, bool specials, GArray *ids, GError **error);
/* As tokenizer_encode; also appends to `ends` (GArray of uint32_t, ascending byte offsets) where each token ends in the
 * text: token i stands for bytes [ends[i - 1], ends[i]), the first token for bytes [0, ends[0]). White space that
 * normalization drops belongs to the next token, at the end of the text to the last token. If normalization replaces a
 * character ("ﬁ" by "fi"), all bytes of this character belong to the first token that has a part of the replacement. */
bool tokenizer_encode_ends(const Tokenizer *tok, const char *text, size_t bytes, bool specials, GArray *ids,
                           GArray *ends, GError **error);
/* Returns the text of n ids; pad, eos and ids outside the vocabulary are left out, and a NUL becomes U+FFFD. A sentinel
 * becomes its piece, such as "<extra_id_3>" or "<sen003>", with a space before it, since the space before a blank
 * belongs to the blank; a space follows if the next piece begins with one (BlankSpace in kind.h: with other kinds of
 * pieces it is the other way round, or there is none). Encoding the text gives the same ids. Free with g_free. */
char *tokenizer_decode(const Tokenizer *tok, const int32_t *ids, int64_t n, GError **error);
/* As tokenizer_decode, for the output of a model: special tokens at its start that the frame puts before a text
 * (TextFrame.before) are left out. */
char *tokenizer_decode_answer(const Tokenizer *tok, const GArray *ids, GError **error);

/* Writes a tokenizer.json with which Hugging Face's tokenizers library gives the same ids, beside blanks only if
 * tokenizer_json_keeps_blanks; sentinels become added tokens. post_processor: one in place of the tokenizer's own,
 * whose reference is taken; NULL means its own. */
bool tokenizer_write_json(const Tokenizer *tok, const char *path, json_t *post_processor, GError **error);
/* Whether that file gives text beside blanks the ids of tokenizer_encode. That of WordPiece, or of a Unigram model
 * which was read from a tokenizer.json, does so only after tokenizer_set_blanks "transformers". */
bool tokenizer_json_keeps_blanks(const Tokenizer *tok);
bool tokenizer_has_json(const Tokenizer *tok); /* whether this tokenizer can be written as a tokenizer.json */
/* Records the tokenizer's hash in the tokenizer_config.json of a folder whose tokenizer.json was written: with this
 * file the folder has the same hash, so that it serves the tokenizer's datasets. */
bool tokenizer_record_hash(const Tokenizer *tok, const char *folder, GError **error);

/* ---- piece_start.c: whether the pieces of a tokenizer start within a character, and whether they start a word
 * although they have no sign of a space before them: Japanese, Chinese and Thai text has none between words ---- */

typedef enum PieceStart {
    PIECE_INSIDE,   /* starts within a character, as a piece of bytes can */
    PIECE_CHAR,     /* starts with a character */
    PIECE_UNSPACED, /* starts with a character, not a mark on the one before, of a script without spaces */
} PieceStart;

/* (tokenizer_size) The starts of all pieces, each a PieceStart. Free with g_free. */
uint8_t *piece_starts(const Tokenizer *tok);
/* (tokenizer_size) The number of bytes of each piece that stands for bytes, as those of byte-level BPE and "<0xE3>"; -1
 * for the others. Free with g_free. */
int32_t *piece_bytes(const Tokenizer *tok);
