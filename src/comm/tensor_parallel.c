#include "comm/tensor_parallel.h"

#include "base/check.h"

void tensor_parallel_sum(TensorParallel *tp, Device *dev, Tensor x)
{
    if (tensor_parallel_size(tp) == 1)
        return;
    const Tensor all = tensor_vector(x.p, (DType)x.dtype, tensor_count(x));
    CHECK(x.rank == 1 || x.ld == x.d[1], "a sum of (%lld, %lld) with rows %lld apart", (long long)x.d[0],
          (long long)x.d[1], (long long)x.ld);
    tp->sent_bytes += comm_all_reduce_sends(all.d[0], tp->size, tp->rank) * (int64_t)dtype_bytes((DType)x.dtype);
    if (tp->ranks && dev->computes)
        comm_wait(tp->ranks, comm_all_reduce(tp->ranks, all));
}

void tensor_parallel_gather(TensorParallel *tp, Device *dev, Tensor all, Tensor own, const int64_t *starts)
{
    tp->sent_bytes += own.d[0] * (tp->size - 1) * (int64_t)dtype_bytes((DType)own.dtype);
    if (tp->ranks && dev->computes)
        comm_wait(tp->ranks, comm_all_gather(tp->ranks, all, own, starts));
}
