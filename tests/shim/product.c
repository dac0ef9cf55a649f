/* product.c: on the host, plain loops in place of cuBLASLt's products. */
#include "shim/product.h"

#include "base/check.h"
#include "device/cast.h"

#include <stdlib.h>
#include <string.h>

/* Row i of t, or of its transpose. */
static void read_row(double *row, Tensor t, bool transposed, int64_t i)
{
    size_t bytes = dtype_bytes(t.dtype);
    const char *p = t.p;
    if (!transposed)
        return cast_load(row, p + (size_t)(i * t.ld) * bytes, t.dtype, tensor_cols(t));
    for (int64_t r = 0; r < tensor_rows(t); r++)
        cast_load(row + r, p + (size_t)(r * t.ld + i) * bytes, t.dtype, 1);
}

static void read_bias(double *numbers, Tensor bias, DType dtype)
{
    int64_t n = tensor_cols(bias);
    cast_load(numbers, bias.p, bias.dtype, n);
    for (int64_t j = 0; j < n; j++) {
        double rounded;
        cast_store(&rounded, dtype, &numbers[j], 1);
        cast_load(&numbers[j], &rounded, dtype, 1);
    }
}

void shim_product(Tensor y, Tensor a, Tensor b, Tensor bias, DType bias_dtype, bool ta, bool tb, double alpha,
                  double beta)
{
    int64_t depth = ta ? tensor_rows(a) : tensor_cols(a), n = tensor_cols(y);
    size_t row_bytes = (size_t)n * sizeof(double);
    double *sums = malloc(3 * row_bytes + 1), *old = sums + n, *added = old + n;
    double *left = malloc((size_t)depth * sizeof *left + 1), *right = malloc((size_t)depth * row_bytes + 1);
    CHECK(sums && left && right, "no memory for a product");
    for (int64_t k = 0; k < depth; k++)
        read_row(right + k * n, b, tb, k);
    if (tensor_present(bias))
        read_bias(added, bias, bias_dtype);
    for (int64_t i = 0; i < tensor_rows(y); i++) {
        read_row(left, a, ta, i);
        memset(sums, 0, row_bytes);
        for (int64_t k = 0; k < depth; k++)
            for (int64_t j = 0; j < n; j++)
                sums[j] += left[k] * right[k * n + j];
        if (beta != 0)
            read_row(old, y, false, i);
        for (int64_t j = 0; j < n; j++)
            sums[j] = alpha * sums[j] + (tensor_present(bias) ? added[j] : 0) + (beta == 0 ? 0 : beta * old[j]);
        cast_store((char *)y.p + (size_t)(i * y.ld) * dtype_bytes(y.dtype), y.dtype, sums, n);
    }
    free(sums);
    free(left);
    free(right);
}
