#include "comm/context_parallel.h"

void context_parallel_exchange(ContextParallel *cp, Device *dev, Tensor x, const int64_t *starts, Tensor own,
                               const int64_t *own_starts)
{
    const int64_t kept = own_starts[cp->rank + 1] - own_starts[cp->rank];
    cp->sent_bytes += (own.d[0] - kept) * (int64_t)dtype_bytes(own.dtype);
    if (cp->ranks && dev->computes)
        comm_wait(cp->ranks, comm_all_to_all(cp->ranks, x, starts, own, own_starts));
}
