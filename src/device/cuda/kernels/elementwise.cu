/* elementwise.cu: operations on each number by itself: sums, scaling, dropout, activations and gates. */
#include "device/cuda/kernels/each.h"
#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/mask.h"

namespace
{

struct Add {
    View y, a, b;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float x[VEC], more[VEC];
        Bits of_a = fetch(a, row, col, n), of_b = fetch(b, row, col, n);
        convert(x, of_a, a);
        convert(more, of_b, b);
        UNROLL for (int i = 0; i < VEC; i++) x[i] += more[i];
        store(y, row, col, n, x);
    }
};

struct Scale {
    View y, x;
    float factor;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float out[VEC];
        load(out, x, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++) out[i] *= factor;
        store(y, row, col, n, out);
    }
};

/* y = residual + mask · x. */
struct Drop {
    View y, x, residual;
    Mask mask;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float out[VEC], factors[VEC], more[VEC];
        load(out, x, row, col, n);
        mask_hidden(factors, mask, row, col);
        if (residual.p) {
            load(more, residual, row, col, n);
            UNROLL for (int i = 0; i < VEC; i++) out[i] = masked_sum(out[i], factors[i], more[i]);
        } else {
            UNROLL for (int i = 0; i < VEC; i++) out[i] *= factors[i];
        }
        store(y, row, col, n, out);
    }
};

/* 1 / (1 + exp(-x)), with a relative error of some 2⁻²¹ where it is not tiny. */
__device__ inline float sigmoid(float x)
{
    return reciprocal_fast(1 + exp2_fast(x * -1.4426950408889634f)); /* -log2(e) */
}

/* The activation of x, and its slope. tanh(u) = 2 sigmoid(2u) - 1. */
template <int ACT> __device__ inline float activate(float x, float *slope)
{
    constexpr float ROOT_2_PI = 0.79788456080286536f; /* √(2/π) */
    if (ACT == ACT_RELU) {
        *slope = x > 0 ? 1.0f : 0.0f;
        return x > 0 ? x : 0.0f;
    }
    if (ACT == ACT_RELU2) {
        float r = x > 0 ? x : 0.0f;
        *slope = 2 * r;
        return r * r;
    }
    if (ACT == ACT_GELU_ERF) {
        float cdf = 0.5f * erfcf(x * -0.70710678118654752f);
        *slope = cdf + x * expf(-0.5f * x * x) * (0.5f * ROOT_2_PI);
        return x * cdf;
    }
    if (ACT == ACT_SILU) {
        float s = sigmoid(x);
        *slope = s * (1 + x * (1 - s));
        return x * s;
    }
    if (ACT == ACT_TANH) {
        float t = tanhf(x);
        *slope = 1 - t * t;
        return t;
    }
    float square = x * x, s = sigmoid(x * (2 * ROOT_2_PI + 2 * ROOT_2_PI * 0.044715f * square));
    *slope = s + x * s * (1 - s) * (2 * ROOT_2_PI + 6 * ROOT_2_PI * 0.044715f * square);
    return x * s;
}

template <int ACT> struct ActFwd {
    View a, h, gate;
    Mask mask;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float x[VEC], factors[VEC], open[VEC], slope;
        Bits of_h = fetch(h, row, col, n), of_gate = {};
        if (gate.p)
            of_gate = fetch(gate, row, col, n);
        mask_hidden(factors, mask, row, col);
        convert(x, of_h, h);
        convert(open, of_gate, gate);
        UNROLL for (int i = 0; i < VEC; i++)
        {
            x[i] = activate<ACT>(x[i], &slope) * factors[i];
            if (gate.p)
                x[i] *= open[i];
        }
        store(a, row, col, n, x);
    }
};

template <int ACT> struct ActBwd {
    View dh, dgate, da, h, gate;
    Mask mask;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float x[VEC], factors[VEC], open[VEC], gradient[VEC], slope;
        Bits of_h = fetch(h, row, col, n), of_da = fetch(da, row, col, n), of_gate = {};
        if (gate.p)
            of_gate = fetch(gate, row, col, n);
        mask_hidden(factors, mask, row, col);
        convert(x, of_h, h);
        convert(gradient, of_da, da);
        convert(open, of_gate, gate);
        UNROLL for (int i = 0; i < VEC; i++)
        {
            float value = activate<ACT>(x[i], &slope), g = gradient[i] * factors[i];
            gradient[i] = g * value;
            x[i] = gate.p ? g * slope * open[i] : g * slope;
        }
        if (gate.p)
            store(dgate, row, col, n, gradient);
        store(dh, row, col, n, x);
    }
};

} // namespace

void gpu_add(Device *dev, Tensor y, Tensor a, Tensor b)
{
    each_vec(dev, y, Add{ view(y), view(a), view(b) });
}

void gpu_bias_add(Device *dev, Tensor y, Tensor x, Tensor b)
{
    b.ld = 0; /* every row reads the same bias */
    gpu_add(dev, y, x, b);
}

void gpu_scale(Device *dev, Tensor y, Tensor x, float factor)
{
    each_vec(dev, y, Scale{ view(y), view(x), factor });
}

void gpu_dropout_fwd(Device *dev, Tensor y, Tensor x, Tensor residual, const Dropout *drop)
{
    each_vec(dev, y, Drop{ view(y), view(x), view(residual), mask_of(drop) });
}

void gpu_dropout_bwd(Device *dev, Tensor dx, Tensor dy, const Dropout *drop)
{
    each_vec(dev, dx, Drop{ view(dx), view(dy), view(NO_TENSOR), mask_of(drop) });
}

void gpu_act_fwd(Device *dev, Tensor a, Tensor h, Tensor gate, Activation act, const Dropout *drop)
{
    Mask mask = mask_of(drop);
    switch (act) {
#define FWD(name, text)                                                                                                \
    case ACT_##name:                                                                                                   \
        return each_vec(dev, a, ActFwd<ACT_##name>{ view(a), view(h), view(gate), mask });
        ACTIVATIONS(FWD)
    case ACT_COUNT:
        break;
    }
}

void gpu_act_bwd(Device *dev, Tensor dh, Tensor dgate, Tensor da, Tensor h, Tensor gate, Activation act,
                 const Dropout *drop)
{
    Mask mask = mask_of(drop);
    switch (act) {
#define BWD(name, text)                                                                                                \
    case ACT_##name:                                                                                                   \
        return each_vec(dev, dh, ActBwd<ACT_##name>{ view(dh), view(dgate), view(da), view(h), view(gate), mask });
        ACTIVATIONS(BWD)
    case ACT_COUNT:
        break;
    }
}
