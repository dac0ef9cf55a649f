/* row_moves.h: a list of row copies (from, to) that one gather and one scatter carry out: fills and reorders key/value
 * caches. */
#pragma once

#include "device/device.h"

typedef struct RowMoves {
    int32_t n, *from, *to; /* on the host */
    Tensor device_from, device_to;
} RowMoves;

/* An empty list with room for `most` rows. */
RowMoves row_moves_new(int64_t most);
void row_moves_free(RowMoves *moves);
/* Rows from, …, from + n - 1 go to rows to, …, to + n - 1. */
void row_moves_add(RowMoves *moves, int32_t from, int32_t to, int32_t n);
/* Copies the indices into the arena, before the moves are made. */
void row_moves_upload(RowMoves *moves, Device *dev, Arena *arena);
/* y[to] = x[from] for all rows of the list; all of x is read before y is written, so y may be x. */
void row_moves_make(const RowMoves *moves, Device *dev, Arena *scratch, Tensor y, Tensor x);
