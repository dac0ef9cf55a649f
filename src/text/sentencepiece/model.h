/* sentencepiece/model.h: the content of SentencePiece's .model file (sentencepiece_model.proto), its normalizer,
 * encoding with it, and its form in tokenizer.json. */
#pragma once

#include "base/error.h"
#include "text/sentencepiece/charsmap.h"
#include "text/trie.h"

#include <jansson.h>

G_BEGIN_DECLS

#define SP_SPACE "\xe2\x96\x81" /* U+2581 "▁", which stands for a space in pieces */

enum { SP_NORMAL = 1, SP_UNKNOWN, SP_CONTROL, SP_USER, SP_UNUSED, SP_BYTE }; /* types of pieces */
enum { SP_UNIGRAM = 1, SP_BPE, SP_WORD, SP_CHAR };                           /* types of models */

typedef struct SpPiece {
    char *text;
    float score; /* unigram: log probability; BPE: minus the rank of the merge that makes it */
    int type;
} SpPiece;

typedef struct SpModel {
    GArray *pieces; /* SpPiece, indexed by id */
    int type;
    int unk; /* id of the unknown piece; -1 means there is none */
    bool byte_fallback;
    bool add_dummy_prefix;           /* put a space before the text */
    bool treat_whitespace_as_suffix; /* with add_dummy_prefix: put it after the text instead */
    bool remove_extra_whitespaces;   /* merge runs of spaces into one, remove those at both ends */
    bool escape_whitespaces;         /* replace spaces by SP_SPACE */
    bool has_user_symbols;     /* some pieces are user_defined_symbols (SP_USER), which are found before other pieces */
    bool has_bad_denormalizer; /* the character map that the library applies after decoding is corrupt */
    char *charsmap_data;       /* the bytes of `charsmap`, as in the file; NULL means there is none */
    size_t charsmap_bytes;
    CharsMap charsmap; /* the character map of the normalizer */
    Trie symbols;      /* user_defined_symbols -> ids */
} SpModel;

GArray *sp_pieces_new(void); /* an empty array of SpPiece that owns their texts */
/* Parses the bytes of a file. Unknown fields are skipped; bytes that are no protobuf give a model without pieces. */
SpModel *sp_model_open(const char *data, size_t bytes, GError **error);
void sp_model_close(SpModel *model);

static inline SpPiece *sp_piece(const SpModel *model, int id)
{
    return &g_array_index(model->pieces, SpPiece, id);
}

/* The score by which unigram segmentation chooses a piece. A user-defined symbol scores more than any sequence of other
 * pieces with the same text. */
float sp_score(const SpPiece *piece);
int sp_byte_of(const char *piece); /* 0x41 for "<0x41>"; -1 for other pieces */
/* Length in bytes of the longest user-defined symbol that text starts with; 0 means none. */
size_t sp_symbol_bytes(const SpModel *model, const char *text, size_t bytes);
/* Normalizes UTF-8 text: maps characters, and treats spaces as the model's flags say (normalize.c). */
GString *sp_normalize(const SpModel *model, const char *text, size_t bytes);
/* sp_normalize, which also sets *map, unless map is NULL, to the offset map of the result (text/offset_map.h;
 * g_array_unref). */
GString *sp_normalize_map(const SpModel *model, const char *text, size_t bytes, GArray **map);
/* Converts the bytes of a .model file to a tokenizer.json; free with json_decref. NULL, with a user's error, if
 * tokenizer.json cannot express it: types other than unigram and BPE, and some flags (json.c). */
json_t *sp_model_json(const char *data, size_t bytes, GError **error);

/* ---- bpe.c: byte-pair encoding: starting from characters, repeatedly merges the two neighbours whose merged piece has
 * the best score (of equal scores the leftmost), until no two neighbours form a piece ---- */

/* Called with each piece; id -1 means that the model has no such piece. */
typedef void (*SpPieceFn)(void *context, const char *piece, size_t bytes, int32_t id);
/* Calls fn with each piece of normalized text in order. `trie` maps the text of normal, user-defined and unused pieces
 * to ids. The text is split between characters that no piece contains side by side, and each part is encoded
 * separately, so time and memory depend on the longest part. */
void sp_bpe_each(const SpModel *model, const Trie *trie, const char *text, size_t bytes, SpPieceFn fn, void *context);

/* ---- encode.c: text to ids with a model of any type: the ids of SentencePiece 0.2.3, but in time proportional to the
 * length of the text (the library's grows with the square of runs of unknown characters) ---- */

typedef struct SpEncoder SpEncoder; /* read-only once open */
/* Takes ownership of the model, on failure too. */
SpEncoder *sp_encoder_open(SpModel *model, GError **error);
void sp_encoder_close(SpEncoder *encoder);
/* Appends the ids (int32_t) of UTF-8 text. */
bool sp_encoder_encode(const SpEncoder *encoder, const char *text, size_t bytes, GArray *ids, GError **error);
/* TokenizerKind.ends. */
bool sp_encoder_ends(const SpEncoder *encoder, const char *text, size_t bytes, const int32_t *ids, int64_t n,
                     uint32_t *ends);

G_END_DECLS
