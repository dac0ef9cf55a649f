/* xent.cu: cross-entropy and its gradient: a block reads its row of logits twice. */
#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/logits.h"

namespace
{

/* Three blocks of 80 registers per thread on a multiprocessor: while one waits for its sums, others read. */
enum { XENT_THREADS = 256, AHEAD = 4 };

struct Xent {
    View logits;
    float *stats;
    int64_t stats_ld, cols, classes; /* cols: classes of these logits; classes: all classes */
    const int32_t *targets;
    const float *weights;
    XentSpec spec;
};

struct XentPart {
    View logits;
    float *parts;
    int64_t parts_ld, rows, n_parts, cols; /* parts: those of one rank, or those of all */
    const int32_t *targets;
};

/* With p the probability of a class, its gradient is p · total - base, less `less` for the target. */
struct Factors {
    float max, factor, base, less; /* p · total = exp(logit - max) · factor */
};

struct XentShared {
    PerWarp<OnlineSoftmax> parts;
    Factors factors;
};

/* What is known of a row over all classes. */
struct RowSums {
    float max, sum, plain, at_target; /* the largest logit, Σ exp(logit - max), Σ logit, the target's logit */
    bool correct;                     /* the target is the first class with the largest logit */
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
__device__ inline void write_stats(const Xent &xent, int64_t row, const RowSums &sums, double log_z)
{
    double s = xent.spec.label_smoothing, off = s / (double)xent.classes;
    double nll = log_z - (double)sums.at_target;
    double others = off == 0 ? 0 : off * (double)sums.plain; /* a logit of -inf matters only with smoothing */
    double cross = log_z - (1 - s) * (double)sums.at_target - others;
    float *stats = xent.stats + row * xent.stats_ld, weight = xent.weights[row];
    stats[XENT_LOSS] = (float)(cross + (double)xent.spec.z_loss * log_z * log_z) * weight;
    stats[XENT_NLL] = (float)nll * weight;
    stats[XENT_CORRECT] = sums.correct ? weight : 0;
    stats[XENT_WEIGHT] = weight;
}

__device__ inline Factors factors_of(const Xent &xent, int64_t row, const RowSums &sums, double log_z)
{
    double s = xent.spec.label_smoothing, off = s / (double)xent.classes;
    double scale = (double)xent.weights[row] * (double)xent.spec.scale;
    double total = scale * (1 + 2 * (double)xent.spec.z_loss * log_z);
    return { sums.max, (float)(total / (double)sums.sum), (float)(scale * off), (float)(scale * (1 - s)) };
}

/* Writes a row's statistics from sums that thread 0 has, and, with `grad`, replaces its logits by their gradient. */
__device__ inline void finish_row(const Xent &xent, int64_t row, const RowSums &sums, Factors *shared)
{
    int64_t target = xent.targets[row];
    if (threadIdx.x == 0) {
        double log_z = (double)sums.max + log((double)sums.sum);
        write_stats(xent, row, sums, log_z);
        *shared = factors_of(xent, row, sums, log_z);
    }
    if (!xent.spec.grad)
        return;
    __syncthreads();
    const Factors f = *shared;
    each_vec_of_row<AHEAD>(xent.logits, row, xent.cols, [&](float(&x)[VEC], int64_t col, int n) {
        int64_t at = target - col;
        UNROLL for (int i = 0; i < VEC; i++) x[i] =
            exp2_fast((x[i] - f.max) * LOG2_E) * f.factor - f.base - (i == at ? f.less : 0);
        store(xent.logits, row, col, n, x);
    });
}

__global__ void __launch_bounds__(XENT_THREADS, 3) xent_kernel(Xent xent)
{
    begin_kernel();
    XentShared *shared = block_shared<XentShared>();
    int64_t row = blockIdx.x, target = xent.targets[row];
    if (xent.weights[row] == 0)
        return row_of_zeros(xent, row);
    KERNEL_CHECK(target >= 0 && target < xent.cols);
    OnlineSoftmax softmax = softmax_of_row<AHEAD>(xent.logits, row, xent.cols, &shared->parts);
    RowSums sums = { softmax.max, softmax.sum, softmax.plain, 0, false };
    if (threadIdx.x == 0) {
        sums.at_target = load_one(xent.logits, row, target);
        sums.correct = is_first_largest(softmax, xent.logits, row, xent.cols, target);
    }
    finish_row(xent, row, sums, &shared->factors);
}

__global__ void __launch_bounds__(XENT_THREADS, 3) xent_part_kernel(XentPart part)
{
    begin_kernel();
    PerWarp<OnlineSoftmax> *parts = block_shared<PerWarp<OnlineSoftmax>>();
    int64_t row = blockIdx.x, target = part.targets[row];
    KERNEL_CHECK(target >= -1 && target < part.cols);
    OnlineSoftmax softmax = softmax_of_row<AHEAD>(part.logits, row, part.cols, parts);
    if (threadIdx.x > 0)
        return;
    float *out = part.parts + row * part.parts_ld;
    out[XENT_PART_MAX] = softmax.max;
    out[XENT_PART_EXP] = softmax.sum;
    out[XENT_PART_SUM] = softmax.plain;
    out[XENT_PART_TARGET] = target < 0 ? 0 : load_one(part.logits, row, target);
    out[XENT_PART_FIRST] = target >= 0 && is_first_largest(softmax, part.logits, row, part.cols, target);
}

/* The sums of a row over all classes, from its parts. */
__device__ inline RowSums join_parts(const XentPart &part, int64_t row)
{
    RowSums sums = { -INFINITY, 0, 0, 0, false };
    for (int64_t i = row; i < part.n_parts; i += part.rows) {
        const float *in = part.parts + i * part.parts_ld;
        float max = in[XENT_PART_MAX];
        bool larger = i == row || max > sums.max || isnan(max);
        sums.sum = larger ? in[XENT_PART_EXP] + (sums.sum != 0 ? sums.sum * expf(sums.max - max) : 0)
                          : sums.sum + (in[XENT_PART_EXP] != 0 ? in[XENT_PART_EXP] * expf(max - sums.max) : 0);
        sums.max = larger ? max : sums.max;
        sums.correct = larger ? in[XENT_PART_FIRST] != 0 : sums.correct;
        sums.plain += in[XENT_PART_SUM];
        sums.at_target += in[XENT_PART_TARGET];
    }
    return sums;
}

__global__ void __launch_bounds__(XENT_THREADS, 3) xent_join_kernel(Xent xent, XentPart part)
{
    begin_kernel();
    int64_t row = blockIdx.x;
    if (xent.weights[row] == 0)
        return row_of_zeros(xent, row);
    RowSums sums = {};
    if (threadIdx.x == 0)
        sums = join_parts(part, row);
    finish_row(xent, row, sums, block_shared<Factors>());
}

Xent xent_of(Tensor logits, Tensor stats, Tensor targets, Tensor weights, int64_t classes, const XentSpec *spec)
{
    return { view(logits),
             (float *)stats.p,
             stats.ld,
             cols_of(logits),
             classes,
             (const int32_t *)targets.p,
             (const float *)weights.p,
             *spec };
}

XentPart part_of(Tensor parts, Tensor logits, Tensor targets)
{
    return { view(logits),    (float *)parts.p,          parts.ld, rows_of(logits), rows_of(parts),
             cols_of(logits), (const int32_t *)targets.p };
}

template <class... Arguments>
void launch_xent(Device *dev, Tensor logits, void (*kernel)(Arguments...), Arguments... arguments)
{
    if (rows_of(logits) > 0)
        launch(gpu_of(dev), logits_shape(rows_of(logits), cols_of(logits), XENT_THREADS), kernel, arguments...);
}

} // namespace

void gpu_xent(Device *dev, Tensor logits, Tensor stats, Tensor targets, Tensor weights, const XentSpec *spec)
{
    launch_xent(dev, logits, xent_kernel, xent_of(logits, stats, targets, weights, cols_of(logits), spec));
}

void gpu_xent_part(Device *dev, Tensor parts, Tensor logits, Tensor targets)
{
    launch_xent(dev, logits, xent_part_kernel, part_of(parts, logits, targets));
}

void gpu_xent_join(Device *dev, Tensor logits, Tensor stats, Tensor parts, Tensor targets, Tensor weights,
                   int32_t classes, const XentSpec *spec)
{
    launch_xent(dev, logits, xent_join_kernel, xent_of(logits, stats, targets, weights, classes, spec),
                part_of(parts, logits, targets));
}
