/* rows.h: sequence parallelism (Korthikanti et al. 2022). Between the sublayers, where every operation works on one
 * token (norms, dropout, the residual sum), each tensor-parallel rank has only some tokens of the residual stream: its
 * rows, which are consecutive tokens of the packed stream, whatever their sequences. At the start of a sublayer each
 * rank gathers the rows of all ranks; at its end the partial products of all ranks are added up, and each rank keeps
 * its rows of the sum.
 *
 * Without sequence parallelism (Ctx.sequence false) a rank's rows are all rows: rows_whole and rows_gather do nothing,
 * and rows_sum is the sum over the tensor-parallel ranks. N: tokens; n: this rank's rows. */
#pragma once

#include "nn/ctx.h"

/* Whether layers between sublayers work on this rank's rows only. */
static inline bool rows_divided(const Ctx *cx)
{
    return cx->sequence && tensor_parallel_size(cx->tp) > 1;
}
/* The first of this rank's rows, and their number. A device that only measures memory has those of rank 0, the most. */
int64_t rows_first(const Ctx *cx);
int64_t rows_count(const Ctx *cx);
/* This rank's rows (n,C) of the matrix (N,C). */
Tensor rows_own(const Ctx *cx, Tensor whole);
/* whole (N,C) = the rows `own` (n,C) of all ranks; own may be rows_own(whole). */
void rows_gather(const Ctx *cx, Tensor whole, Tensor own);
/* The rows of all ranks (N,C), in scratch memory; own itself if it has all rows. */
Tensor rows_whole(const Ctx *cx, Tensor own);
/* This rank's rows (n,C) of the sum of x (N,C) over the ranks; they lie in x, whose other rows are then undefined. */
Tensor rows_sum(const Ctx *cx, Tensor x);
/* ctx_dropout for this rank's rows. */
Dropout rows_dropout(const Ctx *cx, DropoutSite site);
