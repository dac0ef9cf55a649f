#include "text/sentencepiece/piece_ends.h"

#include "text/offset_map.h"

#include <string.h>

/* Bytes of the next character, 0 at the end. */
static size_t char_bytes(const char *text, size_t at, size_t bytes)
{
    return at < bytes ? MIN((size_t)g_utf8_skip[(unsigned char)text[at]], bytes - at) : 0;
}

/* Length in bytes of a piece at `at`; 0 if the piece is not there. A byte piece (<0x41>) stands for its byte, or is
 * written out in the text. */
static size_t piece_bytes(const SpPiece *piece, const char *normal, size_t at, size_t bytes)
{
    size_t n = strlen(piece->text);
    if (piece->type == SP_BYTE && at < bytes && (unsigned char)normal[at] == sp_byte_of(piece->text))
        return 1;
    return n <= bytes - at && memcmp(normal + at, piece->text, n) == 0 ? n : 0;
}

bool piece_ends(const GArray *pieces, int32_t unk, const char *normal, size_t normal_bytes, const GArray *map,
                const int32_t *ids, int64_t n, uint32_t *ends)
{
    g_autofree size_t *stops = g_new(size_t, n); /* where each piece ends in the normalized text */
    int64_t i = 0, unknown = -1;                 /* unknown: the last unknown piece so far; -1 means none */
    size_t at = 0;
    while (i < n || at < normal_bytes) {
        bool wild = i < n && ids[i] == unk;
        size_t step = i == n ? 0
                      : wild ? char_bytes(normal, at, normal_bytes)
                             : piece_bytes(&g_array_index(pieces, SpPiece, ids[i]), normal, at, normal_bytes);
        if (step > 0) {
            unknown = wild ? i : unknown;
            stops[i++] = at += step;
        } else { /* the match failed, so the last unknown piece is extended by one character, as * in a file pattern
                    would be */
            step = unknown >= 0 ? char_bytes(normal, stops[unknown], normal_bytes) : 0;
            if (step == 0)
                return false;
            at = stops[unknown] += step;
            i = unknown + 1;
        }
    }
    for (i = 0; i < n; i++)
        ends[i] = offset_map_at(map, stops[i]);
    return true;
}
