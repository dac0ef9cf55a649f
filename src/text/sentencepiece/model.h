/* sentencepiece/model.h: the content of SentencePiece's .model file (sentencepiece_model.proto): its normalizer,
 * encoding with it, its conversion to a tokenizer.json. */
#pragma once

#include "text/charsmap.h"
#include "text/sentencepiece/sentencepiece.h"
#include "text/trie.h"

enum { SP_NORMAL = 1, SP_UNKNOWN, SP_CONTROL, SP_USER, SP_UNUSED, SP_BYTE }; /* types of pieces */
enum { SP_UNIGRAM = 1, SP_BPE, SP_WORD, SP_CHAR };                           /* types of models */

typedef struct SpPiece {
    char *text;
    float score; /* unigram: log probability; BPE: minus the rank of the merge that makes the piece */
    int type;
} SpPiece;

typedef struct SpModel {
    GArray *pieces; /* SpPiece, indexed by id */
    int type;
    int unk; /* id of the unknown piece; -1 means that there is none */
    bool byte_fallback;
    bool add_dummy_prefix;           /* true: put a space before the text */
    bool treat_whitespace_as_suffix; /* with add_dummy_prefix: put the space after the text instead */
    bool remove_extra_whitespaces;   /* each run of spaces becomes one, none stay at the ends */
    bool escape_whitespaces;         /* true: replace spaces by SP_SPACE */
    bool keeps_space; /* with add_dummy_prefix: no space is put before a text that starts with a space or SP_SPACE */
    bool first_only;  /* with add_dummy_prefix: only before the beginning of the user's text */
    bool has_user_symbols;     /* some pieces are user-defined symbols (SP_USER), which are searched for first */
    bool has_bad_denormalizer; /* true: the character map that SentencePiece applies after decoding is corrupt */
    char *charsmap_data;       /* the bytes of `charsmap`, as in the file; NULL means that there is none */
    size_t charsmap_bytes;
    CharsMap charsmap; /* the character map of the normalizer */
    Trie symbols;      /* maps the text of each user-defined symbol to its id */
} SpModel;

GArray *sp_pieces_new(void); /* an empty array of SpPiece that owns their texts */
/* Parses a .model file. Unknown fields are skipped; content that is no protobuf gives a model without pieces. */
SpModel *sp_model_open(const char *data, size_t bytes, GError **error);
void sp_model_close(SpModel *model);

static inline SpPiece *sp_piece(const SpModel *model, int id)
{
    return &g_array_index(model->pieces, SpPiece, id);
}

/* The score of a piece in unigram segmentation. The score of a user-defined symbol is higher than that of any sequence
 * of other pieces with the same text. */
float sp_score(const SpPiece *piece);
/* Length in bytes of the longest user-defined symbol that `text` starts with; 0 if there is none. */
size_t sp_symbol_bytes(const SpModel *model, const char *text, size_t bytes);
/* Normalizes UTF-8 text (normalize.c): applies the character map, and treats spaces as the flags of the model and what
 * is beside the text say. Unless map is NULL, *map becomes the offset map of the result (text/offset_map.h); free with
 * g_array_unref. */
GString *sp_normalize_edges(const SpModel *model, const char *text, size_t bytes, TextEdges edges, GArray **map);
/* Sets how a model treats the spaces of a text as a class of transformers does that makes a pre_tokenizer Metaspace. */
void sp_model_set_class(SpModel *model, const TokenizerClass *class_);
/* To what spaces belong in the pieces of a model. */
static inline BlankSpace sp_blank_space(const SpModel *model)
{
    return model->treat_whitespace_as_suffix ? BLANK_AFTER : BLANK_BEFORE;
}
/* Converts the content of a .model file to a tokenizer.json; json_decref. It is a user's error if that cannot express
 * the model: its type is neither unigram nor BPE, or it has one of some flags (json.c). */
json_t *sp_model_json(const void *unused, const char *data, size_t bytes, GError **error);

/* ---- bpe.c: byte-pair encoding: starting from characters, repeatedly merges the two neighbours whose merged piece has
 * the best score (of equal scores the leftmost), until no two neighbours form a piece ---- */

/* Called with each piece of a text; id -1 means that the model does not have this piece. */
typedef void (*SpPieceFn)(void *context, const char *piece, size_t bytes, int32_t id);
/* Encodes normalized text and calls fn with each piece in order. `trie` maps the text of normal, user-defined and
 * unused pieces to ids. Between two characters that are neighbours in no piece the text is split, and each part is
 * encoded separately; so time and memory depend on the longest part. */
void sp_bpe_each(const SpModel *model, const Trie *trie, const char *text, size_t bytes, SpPieceFn fn, void *context);

/* ---- encode.c: encoding with a model of any type. The ids are those of SentencePiece 0.2.3, but the time grows with
 * the length of the text, the library's with the square of a run of unknown characters ---- */

typedef struct SpEncoder SpEncoder; /* read-only once open */
/* An encoder for a model. Takes ownership of the model, also on failure. */
SpEncoder *sp_encoder_open(SpModel *model, GError **error);
void sp_encoder_close(SpEncoder *encoder);
/* Appends the ids (int32_t) of UTF-8 text. */
bool sp_encoder_encode(const SpEncoder *encoder, const char *text, size_t bytes, TextEdges edges, GArray *ids,
                       GError **error);
/* The function TokenizerKind.ends (kind.h). */
bool sp_encoder_ends(const SpEncoder *encoder, const char *text, size_t bytes, TextEdges edges, const int32_t *ids,
                     int64_t n, uint32_t *ends);
/* Sets ends (n) so that piece i, whose id is ids[i], ends before byte ends[i] of the original text, by matching the
 * texts of the pieces with the normalized text, in which they follow each other without gaps. pieces: SpPiece, indexed
 * by id; unk: the id that stands for one or more unknown characters; normal: (normal_bytes) the normalized text; map:
 * its offset map (text/offset_map.h). If there are several ways to place unknown pieces, each is taken as short as
 * possible. Returns false if the ids do not fit the text. */
bool sp_piece_ends(const GArray *pieces, int32_t unk, const char *normal, size_t normal_bytes, const GArray *map,
                   const int32_t *ids, int64_t n, uint32_t *ends);

/* ---- anchor.c: normalizes the text beside a blank as a part of a longer text: a character that no normalizer changes
 * is put in the place of the blank, and is cut off again with all that the normalizer puts on its other side ---- */

/* The text with an anchor in the place of each blank beside it; NULL if there is no blank. Free with g_string_free. */
GString *anchor_add(const char *text, size_t bytes, TextEdges edges);
/* Cuts the anchors off a normalized text, and the space that belongs to a blank (" " or SP_SPACE). map: its offset map,
 * which becomes that of the text without anchors, `bytes` long; NULL means none. Returns false if normalization has
 * removed an anchor. */
bool anchor_cut(GString *normal, GArray *map, size_t bytes, TextEdges edges, BlankSpace space);

/* ---- library.cc: the SentencePiece library. Its exceptions and error statuses become GErrors ---- */

/* Trains a model of type "unigram" or "bpe" on those lines (UTF-8) of the texts of `next` that have at least one
 * visible character; words longer than LONG_WORD_BYTES are left out and counted in *left_out. *model becomes the
 * content of the .model file, *bytes its length; free with g_free. */
bool sp_library_train(const char *type, const TokenizerTraining *training, TokenizerText next, void *context,
                      char **model, size_t *bytes, int64_t *left_out, GError **error);

/* ---- viterbi.c: unigram segmentation (Kudo 2018): the split of a text into pieces with the largest sum of scores
 * (log probabilities). Time is proportional to the length of the text ---- */

typedef struct Viterbi {
    Trie trie;          /* maps the text of a piece to its id */
    float *scores;      /* log probabilities, indexed by id */
    float unk_score;    /* score of an unknown character, which no piece matches */
    int32_t unk;        /* id of the unknown piece; -1 means there is none */
    bool byte_fallback; /* an unknown character becomes the ids of its bytes; false: a run of them becomes one `unk` */
    int32_t bytes[256]; /* with byte_fallback: ids of the pieces <0x00> to <0xFF> */
} Viterbi;

/* Initialises *viterbi with the pieces of a model (SpPiece, indexed by id). `found` and `scored` are sets of types of
 * pieces, such as 1 << SP_NORMAL. Only pieces of the types in `found` match text; unk_score becomes the lowest score of
 * a piece of the types in `scored`, minus 10. */
void viterbi_init(Viterbi *viterbi, const GArray *pieces, bool byte_fallback, unsigned found, unsigned scored);
/* It is a user's error if a byte has no piece (bytes[b] is -1), which byte_fallback would need. */
bool viterbi_check_bytes(const Viterbi *viterbi, GError **error);
/* Appends the ids (int32_t) of a text, or of the next part of a text. *score is the sum of scores so far; the caller
 * sets it to 0 before the first part, and each call updates it. As in SentencePiece, sums are floats, and of two splits
 * with equal sums the one whose last piece starts first is taken. */
void viterbi_encode(const Viterbi *viterbi, const char *text, size_t bytes, float *score, GArray *ids);
void viterbi_clear(Viterbi *viterbi);

/* ---- char_bpe.c: byte-pair encoding that starts from characters, with the merges of a tokenizer.json ---- */

typedef struct CharBpe CharBpe; /* read-only once open; thread-safe */

/* Reads the merges. A merge may make a special token, as tokenizers do where the token is not searched for. */
CharBpe *char_bpe_open(const TokenizerJson *json, GError **error);
void char_bpe_close(CharBpe *bpe);
/* Appends the ids (int32_t) of a word. pieces: the ids of characters, and of bytes for characters without a piece. */
void char_bpe_encode(const CharBpe *bpe, const Viterbi *pieces, const char *word, size_t bytes, GArray *ids);
