/* elementwise.c: sums, dropout and activations, in chunks of channels whose dropout factors stay in L1 cache. */
#include "device/cpu/kernels/rows.h"
#include "device/cpu/mask.h"

enum { CHUNK = 256 };

/* A chunk of zeros, used for an absent operand. */
static const ALIGNED float zeros[CHUNK];
static const float *const no_residual = zeros;
static const ALIGNED float ones[CHUNK] = { [0 ... CHUNK - 1] = 1.0f };

/* Numbers [first, first + n) of a row of t, or `absent` if t is NO_TENSOR. */
static const float *read_or(const float *absent, float *buffer, Tensor t, int64_t row, int64_t first, int64_t n)
{
    return tensor_present(t) ? row_read(buffer, t, row, first, n) : absent;
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
    for (int64_t i = 0; i < x.d[0]; i++)
        for (int64_t first = 0; first < x.d[1]; first += CHUNK) {
            ALIGNED float x_buffer[CHUNK], y_buffer[CHUNK];
            int64_t n = min_i64(CHUNK, x.d[1] - first);
            const float *in = row_read(x_buffer, x, i, first, n);
            float *out = row_place(y_buffer, y, i, first);
            SIMD for (int64_t c = 0; c < n; c++) out[c] = factor * in[c];
            row_write(y, i, first, n, out);
        }
}

void KERNEL(add)(Device *dev, Tensor y, Tensor a, Tensor b)
{
#pragma omp parallel for num_threads(team(dev, tensor_count(y))) schedule(static)
    for (int64_t i = 0; i < y.d[0]; i++)
        for (int64_t first = 0; first < y.d[1]; first += CHUNK) {
            ALIGNED float a_buffer[CHUNK], b_buffer[CHUNK], y_buffer[CHUNK];
            int64_t n = min_i64(CHUNK, y.d[1] - first);
            const float *left = row_read(a_buffer, a, i, first, n), *right = row_read(b_buffer, b, i, first, n);
            float *out = row_place(y_buffer, y, i, first);
            SIMD for (int64_t c = 0; c < n; c++) out[c] = left[c] + right[c];
            row_write(y, i, first, n, out);
        }
}

void KERNEL(bias_add)(Device *dev, Tensor y, Tensor x, Tensor b)
{
    if (b.dtype != DT_F32) { /* the bias is converted once, not for every row */
        Tensor wide = tensor_vector(cpu_workspace(dev, row_bytes(b.d[0])), DT_F32, b.d[0]);
        KERNEL(copy)(dev, wide, b);
        b = wide;
    }
    b.ld = 0; /* every row reads the same converted bias */
    KERNEL(add)(dev, y, x, b);
}

void KERNEL(dropout_fwd)(Device *dev, Tensor y, Tensor x, Tensor residual, const Dropout *drop)
{
#pragma omp parallel for num_threads(team(dev, tensor_count(x))) schedule(static)
    for (int64_t i = 0; i < x.d[0]; i++)
        for (int64_t first = 0; first < x.d[1]; first += CHUNK) {
            ALIGNED float mask_buffer[CHUNK], x_buffer[CHUNK], residual_buffer[CHUNK], y_buffer[CHUNK];
            int64_t n = min_i64(CHUNK, x.d[1] - first);
            const float *mask = chunk_mask(mask_buffer, drop, i, first, n);
            const float *in = row_read(x_buffer, x, i, first, n);
            const float *add = read_or(no_residual, residual_buffer, residual, i, first, n);
            float *out = row_place(y_buffer, y, i, first);
            SIMD for (int64_t c = 0; c < n; c++) out[c] = in[c] * mask[c] + add[c];
            row_write(y, i, first, n, out);
        }
}

void KERNEL(dropout_bwd)(Device *dev, Tensor dx, Tensor dy, const Dropout *drop)
{
    KERNEL(dropout_fwd)(dev, dx, dy, NO_TENSOR, drop);
}

/* e^x; x above 88, and NaN or not, counts as 88. The bits of floats >= 0 are in the order of the floats, and the
 * minimum of integers takes an instruction where that of floats, as C defines it, takes five. */
static inline float exp_to_88(float x)
{
    int32_t bits;
    __builtin_memcpy(&bits, &x, 4);
    bits = bits < 0x42B00000 ? bits : 0x42B00000; /* 88.0f */
    __builtin_memcpy(&x, &bits, 4);
    return exp_f32(x);
}

/* tanh's form of GELU: x/2·(1 + tanh u) = x / (1 + e^(−2u)), u = √(2/π)·(x + 0.044715 x³). */
static inline float gelu_gate(float x)
{
    return 1.0f / (1.0f + exp_to_88(-1.59576912f * x * (1.0f + 0.044715f * x * x)));
}

/* s = gelu_gate(x), so that the second term is 0 from |x| = 10 on; there x is taken as 10, whose powers fit f32. */
static inline float gelu_derivative(float x, float s)
{
    x = x > 10.0f ? 10.0f : x;
    x = x < -10.0f ? -10.0f : x;
    return s + x * s * (1.0f - s) * 1.59576912f * (1.0f + 0.134145f * x * x);
}

/* GELU is x·Φ(x), Φ the normal distribution function; `density` is e^(−x²/2). */
typedef struct Normal {
    float cdf, density;
} Normal;

/* Φ(x) = 1 − erfc(z)/2 with z = |x|/√2, and erfc(z) = e^(−z²)·t·Q(t) with t = 1 / (1 + z/2): Q is the polynomial of
 * least relative error, 4.3e-8, for z in [0, 10]; written out, as an inner loop would prevent vectorisation. */
static inline Normal normal_of(float x)
{
    float density = exp_f32(-0.5f * x * x), t = 1.0f / (1.0f + 0.353553391f * fabsf(x)), q = -0.0590689556f;
    q = __builtin_fmaf(q, t, 0.284574932f);
    q = __builtin_fmaf(q, t, -0.487199815f);
    q = __builtin_fmaf(q, t, 0.278067047f);
    q = __builtin_fmaf(q, t, -0.0266255784f);
    q = __builtin_fmaf(q, t, 0.20268683f);
    q = __builtin_fmaf(q, t, 0.243103773f);
    q = __builtin_fmaf(q, t, 0.282375307f);
    q = __builtin_fmaf(q, t, 0.282086418f);
    float tail = 0.5f * t * q * density;
    return (Normal){ x > 0.0f ? 1.0f - tail : tail, density };
}

static inline float sigmoid(float x)
{
    return 1.0f / (1.0f + exp_to_88(-x));
}

/* The activation's value as a product, and its derivative. */
typedef struct Slope {
    float base, factor, slope;
} Slope;

static inline Slope slope_of(Activation act, float x)
{
    Normal normal;
    float s;
    switch (act) {
    case ACT_GELU_TANH:
        s = gelu_gate(x);
        return (Slope){ x, s, gelu_derivative(x, s) };
    case ACT_GELU_ERF:
        normal = normal_of(x);
        return (Slope){ x, normal.cdf, normal.cdf + x * 0.398942280f * normal.density };
    case ACT_SILU:
        s = sigmoid(x);
        return (Slope){ x, s, s + x * s * (1.0f - s) };
    case ACT_TANH:
        s = x != x ? x : 2.0f * sigmoid(2.0f * x) - 1.0f;
        return (Slope){ 1.0f, s, 1.0f - s * s };
    case ACT_RELU2:
        s = x > 0.0f ? x : 0.0f;
        return (Slope){ s, s, 2.0f * s };
    case ACT_RELU:
    case ACT_COUNT:
        break;
    }
    return (Slope){ x > 0.0f ? x : 0.0f, 1.0f, x > 0.0f ? 1.0f : 0.0f };
}

static inline float activation_value(Activation act, float x)
{
    Slope at = slope_of(act, x);
    return at.base * at.factor;
}

/* One loop per activation, LOOP(kind), in which `kind` is a constant. */
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
#define LOOP(kind) SIMD for (int64_t c = 0; c < n; c++) a[c] = activation_value(kind, h[c]) * gate[c] * mask[c]
    EACH_ACTIVATION(act)
#undef LOOP
}

/* Backward of a chunk. Without a gate, dgate is a buffer whose contents are not used. */
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
            ALIGNED float mask_buffer[CHUNK], h_buffer[CHUNK], gate_buffer[CHUNK], a_buffer[CHUNK];
            int64_t n = min_i64(CHUNK, h.d[1] - first);
            float *out = row_place(a_buffer, a, i, first);
            fwd_chunk(out, row_read(h_buffer, h, i, first, n), read_or(ones, gate_buffer, gate, i, first, n),
                      chunk_mask(mask_buffer, drop, i, first, n), n, act);
            row_write(a, i, first, n, out);
        }
}

void KERNEL(act_bwd)(Device *dev, Tensor dh, Tensor dgate, Tensor da, Tensor h, Tensor gate, Activation act,
                     const Dropout *drop)
{
#pragma omp parallel for num_threads(team(dev, tensor_count(h))) schedule(static)
    for (int64_t i = 0; i < h.d[0]; i++)
        for (int64_t first = 0; first < h.d[1]; first += CHUNK) {
            ALIGNED float mask_buffer[CHUNK], da_buffer[CHUNK], h_buffer[CHUNK], gate_buffer[CHUNK];
            ALIGNED float dh_buffer[CHUNK], dgate_buffer[CHUNK];
            int64_t n = min_i64(CHUNK, h.d[1] - first);
            float *d = row_place(dh_buffer, dh, i, first);
            float *dg = tensor_present(dgate) ? row_place(dgate_buffer, dgate, i, first) : dgate_buffer;
            bwd_chunk(d, dg, row_read(da_buffer, da, i, first, n), row_read(h_buffer, h, i, first, n),
                      read_or(ones, gate_buffer, gate, i, first, n), chunk_mask(mask_buffer, drop, i, first, n), n,
                      act);
            row_write(dh, i, first, n, d);
            if (tensor_present(dgate))
                row_write(dgate, i, first, n, dg);
        }
}
