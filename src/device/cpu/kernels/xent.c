/* xent.c: cross-entropy and its gradient, a row of logits at a time. */
#include "device/cpu/kernels/kernels.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1024 }; /* logits summed in f32 before they join a sum in double */

static float row_max(const float *x, int64_t n)
{
    float max = x[0];
#pragma omp simd reduction(max : max)
    for (int64_t j = 0; j < n; j++)
        max = x[j] > max ? x[j] : max;
    return max;
}

static int64_t first_equal(const float *x, int64_t n, float value)
{
    int64_t j = 0;
    while (j < n && x[j] != value)
        j++;
    return j < n ? j : 0;
}

/* Σ e^(x - max); with `keep` the terms replace x. */
static double sum_exp(float *x, int64_t n, float max, bool keep)
{
    float unread[CHUNK];
    double total = 0;
    for (int64_t first = 0; first < n; first += CHUNK) {
        float sum = 0, *in = x + first, *out = keep ? in : unread;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < min_i64(CHUNK, n - first); j++) {
            float term = exp_f32(in[j] - max);
            out[j] = term;
            sum += term;
        }
        total += (double)sum;
    }
    return total;
}

static double sum_plain(const float *x, int64_t n)
{
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < n; j++)
        total += (double)x[j];
    return total;
}

/* One row. With smoothing s the target distribution is q = on at the target and off elsewhere; on = 1 - s, off = s / (V
 * - 1). */
static void xent_row(float *x, float *stats, int32_t target, float weight, int64_t n, const XentSpec *spec)
{
    double s = (double)spec->label_smoothing, off = s / (double)(n - 1), on = 1.0 - s;
    double entropy = s == 0 ? 0 : -(on * log(on) + s * log(off + 1e-20));
    float max = row_max(x, n), at_target = x[target];
    bool correct = at_target == max && first_equal(x, n, max) == target;
    double sum = s == 0 ? 0 : sum_plain(x, n);
    double total = sum_exp(x, n, max, spec->grad);
    double log_z = (double)max + log(total), nll = log_z - (double)at_target;
    double loss = log_z - (on - off) * (double)at_target - off * sum + (double)spec->z_loss * log_z * log_z - entropy;

    stats[XENT_LOSS] = (float)loss * weight;
    stats[XENT_NLL] = (float)nll * weight;
    stats[XENT_CORRECT] = correct ? weight : 0.0f;
    stats[XENT_WEIGHT] = weight;
    if (!spec->grad)
        return;
    double scale = (double)weight * (double)spec->scale;
    float factor = (float)(scale * (1.0 + 2.0 * (double)spec->z_loss * log_z) / total), base = (float)(scale * off);
    SIMD for (int64_t j = 0; j < n; j++) x[j] = x[j] * factor - base;
    x[target] -= (float)(scale * (on - off));
}

void KERNEL(xent)(Device *dev, Tensor logits, Tensor stats, Tensor targets, Tensor weights, const XentSpec *spec)
{
    int64_t n = logits.d[1];
    const int32_t *target = targets.p;
    const float *weight = weights.p;
#pragma omp parallel for num_threads(team(dev, tensor_count(logits))) schedule(static)
    for (int64_t i = 0; i < logits.d[0]; i++) {
        float *row = row_of(logits, i), *out = row_of(stats, i);
        if (weight[i] == 0.0f) {
            memset(out, 0, XENT_STATS * sizeof *out);
            if (spec->grad)
                memset(row, 0, (size_t)n * sizeof *row);
            continue;
        }
        CHECK(target[i] >= 0 && target[i] < n, "target %d of row %lld among %lld classes", target[i], (long long)i,
              (long long)n);
        xent_row(row, out, target[i], weight[i], n, spec);
    }
}
