/* xent.cu: cross-entropy and its gradient: a block reads its row of logits twice. */
#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/logits.h"

namespace
{

struct Xent {
    View logits;
    float *stats;
    int64_t stats_ld, cols;
    const int32_t *targets;
    const float *weights;
    XentSpec spec;
};

__device__ inline void row_of_zeros(const Xent &xent, int64_t row)
{
    const float zeros[VEC] = {};
    if (threadIdx.x < XENT_STATS)
        xent.stats[row * xent.stats_ld + threadIdx.x] = 0;
    for (int64_t col = threadIdx.x * VEC; xent.spec.grad && col < xent.cols; col += blockDim.x * VEC)
        store(xent.logits, row, col, vec_length(xent.cols, col), zeros);
}

/* With smoothing s the target distribution is 1 - s + s / V at the target and s / V elsewhere. */
__device__ inline void write_stats(const Xent &xent, int64_t row, const OnlineSoftmax &softmax, float at_target,
                                   double log_z)
{
    double s = xent.spec.label_smoothing, off = s / (double)xent.cols;
    double nll = log_z - (double)at_target;
    double others = off == 0 ? 0 : off * (double)softmax.plain; /* a logit of -inf matters only with smoothing */
    double cross = log_z - (1 - s) * (double)at_target - others;
    float *stats = xent.stats + row * xent.stats_ld, weight = xent.weights[row];
    stats[XENT_LOSS] = (float)(cross + (double)xent.spec.z_loss * log_z * log_z) * weight;
    stats[XENT_NLL] = (float)nll * weight;
    stats[XENT_CORRECT] = softmax.at == xent.targets[row] ? weight : 0;
    stats[XENT_WEIGHT] = weight;
}

__global__ void __launch_bounds__(MOST_THREADS) xent_kernel(Xent xent)
{
    PerWarp<OnlineSoftmax> *parts = block_shared<PerWarp<OnlineSoftmax>>();
    int64_t row = blockIdx.x, target = xent.targets[row];
    if (xent.weights[row] == 0)
        return row_of_zeros(xent, row);
    KERNEL_CHECK(target >= 0 && target < xent.cols);
    OnlineSoftmax softmax = softmax_of_row(xent.logits, row, xent.cols, parts);
    float at_target = load_one(xent.logits, row, target);
    double log_z = (double)softmax.max + log((double)softmax.sum);
    if (threadIdx.x == 0)
        write_stats(xent, row, softmax, at_target, log_z);
    if (!xent.spec.grad)
        return;
    __syncthreads(); /* every thread has read the target's logit */
    double s = xent.spec.label_smoothing, off = s / (double)xent.cols;
    double scale = (double)xent.weights[row] * (double)xent.spec.scale;
    float factor = (float)(scale * (1 + 2 * (double)xent.spec.z_loss * log_z) / (double)softmax.sum);
    float base = (float)(scale * off), less = (float)(scale * (1 - s));
    for (int64_t col = threadIdx.x * VEC; col < xent.cols; col += blockDim.x * VEC) {
        float x[VEC];
        int n = vec_length(xent.cols, col);
        load(x, xent.logits, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++) x[i] =
            expf(x[i] - softmax.max) * factor - base - (col + i == target ? less : 0);
        store(xent.logits, row, col, n, x);
    }
}

} // namespace

void gpu_xent(Device *dev, Tensor logits, Tensor stats, Tensor targets, Tensor weights, const XentSpec *spec)
{
    Xent xent = {
        view(logits), (float *)stats.p, stats.ld, cols_of(logits), (const int32_t *)targets.p, (const float *)weights.p,
        *spec
    };
    if (rows_of(logits) > 0)
        launch(gpu_of(dev), logits_shape(rows_of(logits), cols_of(logits)), xent_kernel, xent);
}
