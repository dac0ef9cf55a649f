/* products.c: on the host, plain loops in place of cuBLASLt's products. */
#include "device/cast.h"
#include "device/op_table.h"

void gpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta);
void gpu_linear(Device *dev, Tensor y, Tensor x, Tensor w, Tensor b, float scale);

static void *address(Tensor t, int64_t i, int64_t j)
{
    return (char *)t.p + (size_t)(i * t.ld + j) * dtype_bytes((DType)t.dtype);
}

static double element(Tensor t, int64_t i, int64_t j)
{
    double x = 0;
    cast_load(&x, address(t, i, j), (DType)t.dtype, 1);
    return x;
}

static void product(Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, double alpha, double beta)
{
    int64_t depth = ta ? tensor_rows(a) : tensor_cols(a);
    for (int64_t i = 0; i < tensor_rows(y); i++)
        for (int64_t j = 0; j < tensor_cols(y); j++) {
            double sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += (ta ? element(a, k, i) : element(a, i, k)) * (tb ? element(b, j, k) : element(b, k, j));
            sum *= alpha;
            sum += tensor_present(bias) ? element(bias, 0, j) : 0;
            sum += beta == 0 ? 0 : beta * element(y, i, j);
            cast_store(address(y, i, j), (DType)y.dtype, &sum, 1);
        }
}

void gpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    (void)dev;
    product(y, a, b, NO_TENSOR, ta, tb, (double)alpha, (double)beta);
}

void gpu_linear(Device *dev, Tensor y, Tensor x, Tensor w, Tensor b, float scale)
{
    (void)dev;
    product(y, x, w, b, false, true, (double)scale, 0);
}
