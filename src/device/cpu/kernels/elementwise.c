/* elementwise.c: sums, dropout and activations over rows of tokens, in chunks of channels whose factors lie in the
 * first-level cache. */
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/mask.h"

#include <math.h>

enum { CHUNK = 256 };

/* What stands in for an absent operand. */
static const float zeros[CHUNK], *const no_residual = zeros;
static const float ones[CHUNK] = { [0 ... CHUNK - 1] = 1.0f };

static const float *chunk_of(Tensor t, int64_t row, int64_t first, const float *absent)
{
    return tensor_present(t) ? row_of(t, row) + first : absent;
}

/* The factors of dropout for channels [first, first + n) of a row: in `mask`, or all ones. */
static const float *chunk_mask(float *mask, const Dropout *drop, int64_t row, int64_t first, int64_t n)
{
    if (drop->rate == 0.0f)
        return ones;
    MaskRow factors = mask_row(drop, row, 0);
    mask_fill(mask, &factors, drop->first_channel + first, n);
    return mask;
}

void KERNEL(scale)(Device *dev, Tensor y, Tensor x, float factor)
{
#pragma omp parallel for num_threads(team(dev, tensor_count(x))) schedule(static)
    for (int64_t i = 0; i < x.d[0]; i++) {
        const float *in = row_of(x, i);
        float *out = row_of(y, i);
        SIMD for (int64_t c = 0; c < x.d[1]; c++) out[c] = factor * in[c];
    }
}

void KERNEL(add)(Device *dev, Tensor y, Tensor a, Tensor b)
{
#pragma omp parallel for num_threads(team(dev, tensor_count(y))) schedule(static)
    for (int64_t i = 0; i < y.d[0]; i++) {
        const float *left = row_of(a, i), *right = row_of(b, i);
        float *out = row_of(y, i);
        SIMD for (int64_t c = 0; c < y.d[1]; c++) out[c] = left[c] + right[c];
    }
}

void KERNEL(bias_add)(Device *dev, Tensor y, Tensor x, Tensor b)
{
    b.ld = 0; /* the same row again and again */
    KERNEL(add)(dev, y, x, b);
}

void KERNEL(dropout_fwd)(Device *dev, Tensor y, Tensor x, Tensor residual, const Dropout *drop)
{
#pragma omp parallel for num_threads(team(dev, tensor_count(x))) schedule(static)
    for (int64_t i = 0; i < x.d[0]; i++)
        for (int64_t first = 0; first < x.d[1]; first += CHUNK) {
            float buffer[CHUNK], *out = row_of(y, i) + first;
            int64_t n = min_i64(CHUNK, x.d[1] - first);
            const float *mask = chunk_mask(buffer, drop, i, first, n), *in = row_of(x, i) + first;
            const float *add = chunk_of(residual, i, first, no_residual);
            SIMD for (int64_t c = 0; c < n; c++) out[c] = in[c] * mask[c] + add[c];
        }
}

void KERNEL(dropout_bwd)(Device *dev, Tensor dx, Tensor dy, const Dropout *drop)
{
    KERNEL(dropout_fwd)(dev, dx, dy, NO_TENSOR, drop);
}

/* tanh's form of GELU: x/2·(1 + tanh u) = x / (1 + e^(−2u)), u = √(2/π)·(x + 0.044715 x³). */
static inline float gelu_gate(float x)
{
    return 1.0f / (1.0f + exp_f32(-1.59576912f * x * (1.0f + 0.044715f * x * x)));
}

static inline float gelu_derivative(float x, float s)
{
    return s + x * s * (1.0f - s) * 1.59576912f * (1.0f + 0.134145f * x * x);
}

/* e^(−z²)·the fit of e^(z²)·erfc(z) in Numerical Recipes, z >= 0: relative error below 1.2e-7. */
static inline float erfc_f32(float z)
{
    static const float fit[] = { -1.26551223f, 1.00002368f,  0.37409196f, 0.09678418f,  -0.18628806f,
                                 0.27886807f,  -1.13520398f, 1.48851587f, -0.82215223f, 0.17087277f };
    float t = 1.0f / (1.0f + 0.5f * z), p = fit[9];
    for (int i = 8; i >= 0; i--)
        p = __builtin_fmaf(p, t, fit[i]);
    return t * exp_f32(p - z * z);
}

/* The normal distribution function: GELU is x·Φ(x). */
static inline float normal_cdf(float x)
{
    float tail = 0.5f * erfc_f32(0.707106781f * fabsf(x));
    return x > 0.0f ? 1.0f - tail : tail;
}

static inline float sigmoid(float x)
{
    return 1.0f / (1.0f + exp_f32(-x));
}

/* The activation's value as a product, and its derivative. */
typedef struct Slope {
    float base, factor, slope;
} Slope;

static inline Slope slope_of(Activation act, float x)
{
    float s;
    switch (act) {
    case ACT_GELU_TANH:
        s = gelu_gate(x);
        return (Slope){ x, s, gelu_derivative(x, s) };
    case ACT_GELU_ERF:
        s = normal_cdf(x);
        return (Slope){ x, s, s + x * 0.398942280f * exp_f32(-0.5f * x * x) };
    case ACT_SILU:
        s = sigmoid(x);
        return (Slope){ x, s, s + x * s * (1.0f - s) };
    case ACT_TANH:
        s = 2.0f * sigmoid(2.0f * x) - 1.0f;
        return (Slope){ 1.0f, s, 1.0f - s * s };
    case ACT_RELU:
    case ACT_COUNT:
        break;
    }
    return (Slope){ x > 0.0f ? x : 0.0f, 1.0f, x > 0.0f ? 1.0f : 0.0f };
}

static inline float value_of(Activation act, float x)
{
    Slope at = slope_of(act, x);
    return at.base * at.factor;
}

/* One loop for each activation, LOOP(kind): `kind` is a constant in it. */
#define CASE(name, text)                                                                                               \
    case ACT_##name:                                                                                                   \
        LOOP(ACT_##name);                                                                                              \
        break;
#define EACH_ACTIVATION(act)                                                                                           \
    switch (act) {                                                                                                     \
        ACTIVATIONS(CASE)                                                                                              \
    case ACT_COUNT:                                                                                                    \
        break;                                                                                                         \
    }

static void fwd_chunk(float *a, const float *h, const float *gate, const float *mask, int64_t n, Activation act)
{
#define LOOP(kind) SIMD for (int64_t c = 0; c < n; c++) a[c] = value_of(kind, h[c]) * gate[c] * mask[c]
    EACH_ACTIVATION(act)
#undef LOOP
}

/* dgate may be scratch nobody reads. */
static void bwd_chunk(float *dh, float *dgate, const float *da, const float *h, const float *gate, const float *mask,
                      int64_t n, Activation act)
{
#define LOOP(kind)                                                                                                     \
    SIMD for (int64_t c = 0; c < n; c++)                                                                               \
    {                                                                                                                  \
        Slope at = slope_of(kind, h[c]);                                                                               \
        float d = da[c] * mask[c];                                                                                     \
        dgate[c] = d * at.base * at.factor;                                                                            \
        dh[c] = d * gate[c] * at.slope;                                                                                \
    }
    EACH_ACTIVATION(act)
#undef LOOP
}

void KERNEL(act_fwd)(Device *dev, Tensor a, Tensor h, Tensor gate, Activation act, const Dropout *drop)
{
#pragma omp parallel for num_threads(team(dev, tensor_count(h))) schedule(static)
    for (int64_t i = 0; i < h.d[0]; i++)
        for (int64_t first = 0; first < h.d[1]; first += CHUNK) {
            float buffer[CHUNK];
            int64_t n = min_i64(CHUNK, h.d[1] - first);
            const float *mask = chunk_mask(buffer, drop, i, first, n);
            fwd_chunk(row_of(a, i) + first, row_of(h, i) + first, chunk_of(gate, i, first, ones), mask, n, act);
        }
}

void KERNEL(act_bwd)(Device *dev, Tensor dh, Tensor dgate, Tensor da, Tensor h, Tensor gate, Activation act,
                     const Dropout *drop)
{
#pragma omp parallel for num_threads(team(dev, tensor_count(h))) schedule(static)
    for (int64_t i = 0; i < h.d[0]; i++)
        for (int64_t first = 0; first < h.d[1]; first += CHUNK) {
            float buffer[CHUNK], unread[CHUNK];
            int64_t n = min_i64(CHUNK, h.d[1] - first);
            const float *mask = chunk_mask(buffer, drop, i, first, n);
            bwd_chunk(row_of(dh, i) + first, tensor_present(dgate) ? row_of(dgate, i) + first : unread,
                      row_of(da, i) + first, row_of(h, i) + first, chunk_of(gate, i, first, ones), mask, n, act);
        }
}
