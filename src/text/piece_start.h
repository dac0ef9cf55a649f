/* piece_start.h: whether the pieces of a tokenizer start within a character, and whether they start a word although
 * they have no sign of a space before them: in Japanese, Chinese or Thai text there are no spaces between words. */
#pragma once

#include "text/tokenizer.h"

typedef enum PieceStart {
    PIECE_INSIDE,   /* starts within a character, as a piece of bytes can */
    PIECE_CHAR,     /* starts with a character */
    PIECE_UNSPACED, /* starts with a character of a script that is written without spaces, and that is no mark on the
                       character before it */
} PieceStart;

/* (tokenizer_size) The starts of all pieces, each a PieceStart. Free with g_free. */
uint8_t *piece_starts(const Tokenizer *tok);
