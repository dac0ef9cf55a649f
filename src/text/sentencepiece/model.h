/* sentencepiece/model.h: the content of SentencePiece's .model file (sentencepiece_model.proto), and its normalizer. */
#pragma once

#include "base/error.h"
#include "text/sentencepiece/charsmap.h"
#include "text/trie.h"

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
    GArray *pieces; /* SpPiece by id */
    int type;
    int unk; /* id of the unknown piece; -1 means there is none */
    bool byte_fallback;
    bool add_dummy_prefix;           /* put a space before the text */
    bool treat_whitespace_as_suffix; /* with add_dummy_prefix: put it after the text instead */
    bool remove_extra_whitespaces;   /* merge runs of spaces into one, remove those at both ends */
    bool escape_whitespaces;         /* replace spaces by SP_SPACE */
    bool has_user_symbols;           /* some pieces are user_defined_symbols (SP_USER), which are split off first */
    bool has_bad_denormalizer;       /* the character map that the library applies after decoding is damaged */
    char *charsmap_data;             /* the bytes of `charsmap`, as in the file; NULL means there is none */
    size_t charsmap_bytes;
    CharsMap charsmap; /* of the normalizer */
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

/* The score by which unigram segmentation chooses a piece. That of a user-defined symbol is above the sum of any pieces
 * that could make up its text. */
float sp_score(const SpPiece *piece);
int sp_byte_of(const char *piece); /* 0x41 for "<0x41>"; -1 for other pieces */
/* Length in bytes of the longest user-defined symbol that text starts with; 0 means none. */
size_t sp_symbol_bytes(const SpModel *model, const char *text, size_t bytes);
/* The normalized form of UTF-8 text: characters mapped, spaces treated as the model's flags say. */
GString *sp_normalize(const SpModel *model, const char *text, size_t bytes);

G_END_DECLS
