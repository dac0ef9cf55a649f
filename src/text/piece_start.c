#include "text/tokenizer.h"

#include "text/byte_bpe/byte_bpe.h"
#include "text/sentencepiece/sentencepiece.h"

#include <string.h>

#define INNER "##" /* of WordPiece: the piece is within a word, whatever its script */

static bool is_unspaced(gunichar c)
{
    switch (g_unichar_get_script(c)) {
    case G_UNICODE_SCRIPT_HAN:
    case G_UNICODE_SCRIPT_HIRAGANA:
    case G_UNICODE_SCRIPT_KATAKANA:
    case G_UNICODE_SCRIPT_BOPOMOFO:
    case G_UNICODE_SCRIPT_YI:
    case G_UNICODE_SCRIPT_THAI:
    case G_UNICODE_SCRIPT_LAO:
    case G_UNICODE_SCRIPT_KHMER:
    case G_UNICODE_SCRIPT_MYANMAR:
    case G_UNICODE_SCRIPT_TIBETAN:
    case G_UNICODE_SCRIPT_JAVANESE:
    case G_UNICODE_SCRIPT_BALINESE:
        return !g_unichar_ismark(c);
    default:
        return false;
    }
}

/* The start of these bytes, which need not be whole characters. Bytes 0xe3 to 0xe9 begin the characters U+3000 to
 * U+9FFF, nearly all of them Japanese or Chinese. */
static PieceStart start_of_bytes(const unsigned char *bytes, size_t n)
{
    gunichar c = n > 0 ? g_utf8_get_char_validated((const char *)bytes, (gssize)n) : 0;
    if (n > 0 && (bytes[0] & 0xc0) == 0x80)
        return PIECE_INSIDE;
    if (c == (gunichar)-1 || c == (gunichar)-2)
        return bytes[0] >= 0xe3 && bytes[0] <= 0xe9 ? PIECE_UNSPACED : PIECE_CHAR;
    return is_unspaced(c) ? PIECE_UNSPACED : PIECE_CHAR;
}

static PieceStart start_of_piece(const char *piece)
{
    const int byte = sp_byte_of(piece);
    const unsigned char own = (unsigned char)byte;
    if (g_str_has_prefix(piece, INNER))
        return PIECE_CHAR;
    piece += g_str_has_prefix(piece, SP_SPACE) ? strlen(SP_SPACE) : 0;
    return byte >= 0 ? start_of_bytes(&own, 1) : start_of_bytes((const unsigned char *)piece, strlen(piece));
}

/* The n bytes of piece `id` of a byte-level BPE; NULL for other pieces. g_free. */
static char *bytes_of(const Tokenizer *tok, int id, size_t *n)
{
    const char *kind = tokenizer_kind(tok);
    const bool by_bytes = g_str_has_prefix(kind, "byte-bpe") || g_str_has_prefix(kind, "tiktoken");
    return by_bytes ? byte_bpe_bytes(tokenizer_piece(tok, id), n) : NULL;
}

uint8_t *piece_starts(const Tokenizer *tok)
{
    const int size = tokenizer_size(tok);
    uint8_t *starts = g_new(uint8_t, size);
    for (int id = 0; id < size; id++) {
        size_t n = 0;
        g_autofree char *bytes = bytes_of(tok, id, &n);
        starts[id] = (uint8_t)(bytes ? start_of_bytes((const unsigned char *)bytes, n)
                                     : start_of_piece(tokenizer_piece(tok, id)));
    }
    return starts;
}

int32_t *piece_bytes(const Tokenizer *tok)
{
    const int size = tokenizer_size(tok);
    int32_t *counts = g_new(int32_t, size);
    for (int id = 0; id < size; id++) {
        size_t n = 0;
        g_autofree char *bytes = bytes_of(tok, id, &n);
        counts[id] = bytes ? (int32_t)n : sp_byte_of(tokenizer_piece(tok, id)) >= 0 ? 1 : -1;
    }
    return counts;
}
