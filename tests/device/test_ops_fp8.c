/* labels: starts-first */
/* Operations of FP8: casts with their scales, and products. */
#include "device/rig.h"

static Tensor one(Rig *r, double value)
{
    Tensor t = tensor_vector(allocate(r, sizeof(double)), precision_statistic(r->dev->precision), 1);
    set(t, 0, 0, value);
    return t;
}

static Tensor numbers_of_fp8(Rig *r, int64_t rows, int64_t cols, bool e5m2)
{
    return blank_of(r, precision_fp8(r->dev->precision, e5m2), rows, cols, 0);
}

/* Most numbers are normal; with a large scale many are above the largest, with a small one subnormal or 0. */
static void case_cast(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 64, 131), c = PICK_SIZE(r, 7, 64, 200), pad = PICK_SIZE(r, 0, 3);
    int64_t more = PICK_SIZE(r, 0, 5);
    double scale = PICK(r, 1, 300, 1e-3);
    bool e5m2 = choose(r, 2);
    int kind = choose(r, 3); /* both, the transpose alone, no transpose and no amax */
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, pad, e5m2 ? 100 : 1), amax = one(r, 0.5);
    Tensor y = numbers_of_fp8(r, n, c, e5m2), yt = numbers_of_fp8(r, c, n + more, e5m2);
    op_fp8_cast(r->dev, kind == 1 ? NO_TENSOR : y, kind == 2 ? NO_TENSOR : yt, kind == 2 ? NO_TENSOR : amax, x,
                one(r, scale), e5m2);
    if (kind != 1)
        output(r, y);
    if (kind != 2)
        output(r, yt);
    output(r, amax);
}

static void case_scale(Rig *r)
{
    int64_t n = PICK_SIZE(r, 1, 131), c = PICK_SIZE(r, 7, 300), pad = PICK_SIZE(r, 0, 3);
    bool e5m2 = choose(r, 2);
    double std = PICK(r, 1, 0, 1e-37); /* zeros; numbers whose scale is infinite, and its inverse denormal */
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, pad, std), scale = one(r, NAN), inverse = one(r, NAN);
    op_fp8_scale(r->dev, scale, inverse, x, (int32_t)PICK(r, 0, 2), e5m2);
    output(r, scale);
    if (std > 1e-30 || std == 0)
        output(r, inverse);
}

static void case_update(Rig *r)
{
    enum { ROWS = 5 };
    int64_t length = PICK_SIZE(r, 1, 2, 16, 1024);
    bool e5m2 = choose(r, 2);
    DType dtype = precision_statistic(r->dev->precision);
    Tensor history = normal_of(r, dtype, ROWS, length, 0, 3);
    Tensor scale = tensor_vector(normal_of(r, dtype, 1, ROWS, 0, 1).p, dtype, ROWS);
    Tensor inverse = normal_of(r, dtype, ROWS, 1, PICK_SIZE(r, 0, 3), 1);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t t = 0; t < length; t++)
            set(history, i, t, i == 1 ? 0 : fabs(get(history, i, t)));
    set(scale, 0, 1, 7); /* of a row of zeros: it stays */
    for (int update = 0; update < 3; update++) {
        op_fp8_update(r->dev, scale, inverse, history, (int32_t)(update == 2), e5m2);
        for (int64_t i = 0; i < ROWS; i++)
            set(history, i, 0, i == 1 ? 0 : 0.25 * (double)(update + i));
    }
    output(r, scale);
    output(r, inverse);
    output(r, history);
}

/* Numbers of both formats with scales of their own. A GPU rounds the bias to bf16 before, beside results in f16 to f16.
 */
static void case_linear(Rig *r)
{
    int64_t m = PICK_SIZE(r, 1, 70), n = PICK_SIZE(r, 16, 96), k = PICK_SIZE(r, 16, 144);
    bool gradient = choose(r, 2);
    int kind = choose(r, 3); /* plain, with a bias, added to y */
    bool biased = kind == 1;
    float beta = kind == 2 ? 1 : 0;
    Tensor a = numbers_of_fp8(r, m, k, gradient), b = numbers_of_fp8(r, n, k, false);
    Tensor a_scale = one(r, 1), a_inverse = one(r, 1), b_scale = one(r, 1), b_inverse = one(r, 1);
    Tensor xa = normal(r, m, k, 0, 1), xb = normal(r, n, k, 0, 0.05), y = accumulator(r, m, n, 0, beta);
    Tensor bias = normal(r, 1, n, 0, 1);
    bias = tensor_vector(bias.p, bias.dtype, n);
    for (int64_t j = 0; j < n; j++)
        set(bias, 0, j, (double)bf16_to_f32(bf16_from_f32((float)get(bias, 0, j))));
    op_fp8_scale(r->dev, a_scale, a_inverse, xa, 0, gradient);
    op_fp8_scale(r->dev, b_scale, b_inverse, xb, 1, false);
    op_fp8_cast(r->dev, a, NO_TENSOR, NO_TENSOR, xa, a_scale, gradient);
    op_fp8_cast(r->dev, b, NO_TENSOR, NO_TENSOR, xb, b_scale, false);
    op_fp8_linear(r->dev, y, a, b, biased ? bias : NO_TENSOR, a_inverse, b_inverse, beta);
    output(r, y);
}

/* The error of sums: tensor cores of Hopper add products of FP8 with 13 bits of mantissa. */
#ifdef RIG_CUDA
#define FP8_SUMS 1e-3
#else
#define FP8_SUMS 2e-6
#endif

static const Case cases[] = {
    { "fp8_cast", case_cast, 0, 0, 1 },
    { "fp8_scale", case_scale, 1e-7, 0, 1 },
    { "fp8_update", case_update, 1e-7, 0, 1 },
    { "fp8_linear", case_linear, FP8_SUMS, 0, 1 }, /* the last: see main */
};

int main(int argc, char **argv)
{
    size_t n = G_N_ELEMENTS(cases);
#ifdef RIG_CUDA
    enum { PRODUCTS_OF_FP8 = 89 }; /* compute capability of GPUs that have them */
    char why[CUDA_WHY];
    CudaGpu gpu;
    n -= cuda_describe(0, &gpu, why) && gpu.compute < PRODUCTS_OF_FP8;
#endif
    return run_cases(cases, n, argc, argv);
}
