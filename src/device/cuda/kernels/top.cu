/* top.cu: the largest numbers of a row. Each thread of a block knows the largest of its numbers that has not been
 * chosen yet; the block chooses the largest of these, and the thread that had it finds its next largest. */
#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/logits.h"

namespace
{

struct Best {
    float value;
    int at; /* -1 means none */
};

struct TopShared {
    union {
        PerWarp<OnlineSoftmax> softmax;
        PerWarp<Best> bests;
    };
};

/* The largest of the thread's numbers that come after `last` in descending order (smaller, or equal with a larger
 * index); last.at -1 means all numbers. NaN counts as -inf, so that all indices are valid. */
__device__ inline Best next_of_thread(const View &x, int64_t row, int64_t cols, Best last)
{
    Best best = { -INFINITY, -1 };
    for (int64_t col = threadIdx.x * VEC; col < cols; col += blockDim.x * VEC) {
        float in[VEC];
        int n = vec_length(cols, col);
        load(in, x, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++) if (i < n)
        {
            int at = (int)(col + i);
            float value = in[i] == in[i] ? in[i] : -INFINITY;
            bool left = last.at < 0 || comes_first(last.value, last.at, value, at);
            if (left && comes_first(value, at, best.value, best.at))
                best = { value, at };
        }
    }
    return best;
}

__device__ inline Best better(Best a, Best b)
{
    return comes_first(a.value, a.at, b.value, b.at) ? a : b;
}

__device__ inline Best best_of_block(Best best, TopShared *shared)
{
    UNROLL for (int distance = WARP / 2; distance > 0; distance /= 2)
    {
        Best other = { __shfl_xor_sync(ALL_LANES, best.value, distance),
                       __shfl_xor_sync(ALL_LANES, best.at, distance) };
        best = better(best, other);
    }
    __syncthreads(); /* all threads have read the previous parts */
    if (threadIdx.x % WARP == 0)
        shared->bests.of[threadIdx.x / WARP] = best;
    __syncthreads();
    best = shared->bests.of[0];
    for (unsigned i = 1; i < blockDim.x / WARP; i++)
        best = better(best, shared->bests.of[i]);
    return best;
}

__global__ void __launch_bounds__(MOST_THREADS) top_kernel(View x, int64_t cols, float *values, int64_t values_ld,
                                                           int32_t *ids, int64_t ids_ld, double *log_sum, int k)
{
    begin_kernel();
    TopShared *shared = block_shared<TopShared>();
    int64_t row = blockIdx.x;
    OnlineSoftmax softmax = softmax_of_row<2>(x, row, cols, &shared->softmax);
    if (threadIdx.x == 0)
        log_sum[row] = (double)softmax.max + log((double)softmax.sum);
    Best own = next_of_thread(x, row, cols, { 0, -1 });
    for (int i = 0; i < k; i++) {
        Best best = best_of_block(own, shared);
        if (threadIdx.x == 0) {
            values[row * values_ld + i] = best.value;
            ids[row * ids_ld + i] = best.at;
        }
        if (best.at == own.at && own.at >= 0)
            own = next_of_thread(x, row, cols, own);
    }
}

} // namespace

void gpu_top(Device *dev, Tensor values, Tensor ids, Tensor log_sum, Tensor x)
{
    if (rows_of(x) > 0)
        launch(gpu_of(dev), logits_shape(rows_of(x), cols_of(x), MOST_THREADS), top_kernel, view(x), cols_of(x),
               (float *)values.p, values.ld, (int32_t *)ids.p, ids.ld, (double *)log_sum.p, (int)cols_of(values));
}
