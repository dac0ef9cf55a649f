/* context_parallel.h: ranks that divide the tokens of a microbatch among them (context parallelism). Each rank computes
 * with the whole matrices of its layers for its tokens; attention, which needs the tokens of whole sequences, is
 * divided by heads (nn/context.h). So each rank has all heads of its own tokens outside attention, and all tokens of
 * its own heads within it. Before and after attention the ranks exchange one for the other, as in DeepSpeed-Ulysses
 * (Jacobs et al. 2023). */
#pragma once

#include "comm/comm.h"

typedef struct ContextParallel {
    Comm *ranks;        /* NULL means that nothing is sent, and sent_bytes counts what this rank would send */
    int rank, size;     /* this rank and the number of ranks; size 0 or 1 means that the tokens are not divided */
    int64_t sent_bytes; /* bytes that this rank has sent, or with ranks NULL would have sent */
} ContextParallel;

/* The number of ranks; 1 if cp is NULL. */
static inline int context_parallel_size(const ContextParallel *cp)
{
    return cp && cp->size > 1 ? cp->size : 1;
}

/* x and `own`, vectors: element range own_starts[r] of `own` goes to rank r, starts[r] of x comes from rank r, as in
 * comm_all_to_all. Operations queued on the device after this call see the result. Only for two or more ranks. */
static inline void context_parallel_exchange(ContextParallel *cp, Device *dev, Tensor x, const int64_t *starts,
                                             Tensor own, const int64_t *own_starts)
{
    const int64_t kept = own_starts[cp->rank + 1] - own_starts[cp->rank];
    cp->sent_bytes += (own.d[0] - kept) * (int64_t)dtype_bytes(own.dtype);
    if (cp->ranks && dev->computes)
        comm_wait(cp->ranks, comm_all_to_all(cp->ranks, x, starts, own, own_starts));
}
