/* elementwise.c: dropout and activations over rows of tokens, in chunks of channels whose factors lie in the
 * first-level cache. */
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/mask.h"

enum { CHUNK = 256 };

/* What stands in for an absent operand. */
static const float zeros[CHUNK], *const no_residual = zeros;
static float ones[CHUNK];

__attribute__((constructor)) static void fill_ones(void)
{
    for (int i = 0; i < CHUNK; i++)
        ones[i] = 1.0f;
}

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
    mask_fill(mask, &factors, first, n);
    return mask;
}

void cpu_dropout_fwd(Device *dev, Tensor y, Tensor x, Tensor residual, const Dropout *drop)
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

void cpu_dropout_bwd(Device *dev, Tensor dx, Tensor dy, const Dropout *drop)
{
    cpu_dropout_fwd(dev, dx, dy, NO_TENSOR, drop);
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

static void fwd_chunk(float *a, const float *h, const float *gate, const float *mask, int64_t n, Activation act)
{
    if (act == ACT_RELU) {
        SIMD for (int64_t c = 0; c < n; c++) a[c] = (h[c] > 0.0f ? h[c] : 0.0f) * gate[c] * mask[c];
        return;
    }
    SIMD for (int64_t c = 0; c < n; c++) a[c] = h[c] * gelu_gate(h[c]) * gate[c] * mask[c];
}

/* dgate may be scratch nobody reads. */
static void bwd_chunk(float *dh, float *dgate, const float *da, const float *h, const float *gate, const float *mask,
                      int64_t n, Activation act)
{
    if (act == ACT_RELU) {
        SIMD for (int64_t c = 0; c < n; c++)
        {
            float d = h[c] > 0.0f ? da[c] * mask[c] : 0.0f;
            dgate[c] = d * h[c];
            dh[c] = d * gate[c];
        }
        return;
    }
    SIMD for (int64_t c = 0; c < n; c++)
    {
        float s = gelu_gate(h[c]), d = da[c] * mask[c];
        dgate[c] = d * h[c] * s;
        dh[c] = d * gate[c] * gelu_derivative(h[c], s);
    }
}

void cpu_act_fwd(Device *dev, Tensor a, Tensor h, Tensor gate, Activation act, const Dropout *drop)
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

void cpu_act_bwd(Device *dev, Tensor dh, Tensor dgate, Tensor da, Tensor h, Tensor gate, Activation act,
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
