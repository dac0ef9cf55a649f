/* sentencepiece_model.h: what SentencePiece's .model file says, and text as its model sees it. */
#pragma once

#include "base/error.h"
#include "text/sentencepiece/charsmap.h"
#include "text/trie.h"

G_BEGIN_DECLS

#define SP_SPACE "\xe2\x96\x81" /* U+2581, which stands for a space */

enum { SP_NORMAL = 1, SP_UNKNOWN, SP_CONTROL, SP_USER, SP_UNUSED, SP_BYTE }; /* of a piece */
enum { SP_UNIGRAM = 1, SP_BPE, SP_WORD, SP_CHAR };                           /* of a model */

typedef struct SpPiece {
    char *text;
    float score;
    int type;
} SpPiece;

typedef struct SpModel {
    GArray *pieces; /* of SpPiece, by id */
    int type;
    int unk; /* -1: none */
    bool byte_fallback;
    bool add_dummy_prefix;           /* text begins with a space */
    bool treat_whitespace_as_suffix; /* … or rather ends with it */
    bool remove_extra_whitespaces;   /* runs of spaces count as one, none at the ends */
    bool escape_whitespaces;         /* a space becomes SP_SPACE */
    bool has_user_symbols;           /* pieces of type SP_USER: each is found in text before anything else */
    char *charsmap_data;             /* as the file has it; NULL: none */
    size_t charsmap_bytes;
    CharsMap charsmap;
    Trie symbols; /* the user's, to their ids */
} SpModel;

/* The bytes of a file that the library has accepted; what it does not know in them is passed over. */
SpModel *sp_model_open(const char *data, size_t bytes, GError **error);
void sp_model_close(SpModel *model);

static inline SpPiece *sp_piece(const SpModel *model, int id)
{
    return &g_array_index(model->pieces, SpPiece, id);
}

/* Its log probability; a user's symbol has one that no pieces which it could be made of reach. */
float sp_score(const SpPiece *piece);
/* What "<0x41>" stands for, or -1. */
int sp_byte_of(const char *piece);
/* Bytes of the longest user's symbol at the beginning of text; 0: none. */
size_t sp_symbol_bytes(const SpModel *model, const char *text, size_t bytes);
/* UTF-8 text with its characters mapped and its spaces as the model wants them. */
GString *sp_normalize(const SpModel *model, const char *text, size_t bytes);

G_END_DECLS
