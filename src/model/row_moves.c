#include "model/row_moves.h"

#include "nn/tokens.h"

#include <glib.h>

RowMoves row_moves_new(int64_t most)
{
    return (RowMoves){ .from = g_new(int32_t, most), .to = g_new(int32_t, most) };
}

void row_moves_free(RowMoves *moves)
{
    g_free(moves->from);
    g_free(moves->to);
}

void row_moves_add(RowMoves *moves, int32_t from, int32_t to, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        moves->from[moves->n] = from + i;
        moves->to[moves->n++] = to + i;
    }
}

void row_moves_upload(RowMoves *moves, Device *dev, Arena *arena)
{
    moves->device_from = indices_upload(dev, arena, moves->from, moves->n, moves->n, "moves.from");
    moves->device_to = indices_upload(dev, arena, moves->to, moves->n, moves->n, "moves.to");
}

void row_moves_make(const RowMoves *moves, Device *dev, Arena *scratch, Tensor y, Tensor x)
{
    size_t mark = arena_mark(scratch);
    Tensor rows = arena_tensor(scratch, (DType)y.dtype, moves->n, y.d[1], "moves.rows");

    op_gather(dev, rows, x, moves->device_from);
    op_scatter(dev, y, rows, moves->device_to);
    arena_reset(scratch, mark);
}
