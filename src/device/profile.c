#include "device/profile.h"

#include "base/check.h"
#include "base/clock.h"

double profile_start(const Device *dev)
{
    return dev->profile ? clock_seconds() : 0;
}

void profile_add(Device *dev, const char *op, double start)
{
    Profile *profile = dev->profile;
    if (profile == NULL)
        return;
    device_synchronise(dev);
    int i = 0;
    while (i < profile->n && profile->rows[i].op != op) /* each name is one literal of ops.c */
        i++;
    CHECK(i < PROFILE_OPS, "more than %d operations", PROFILE_OPS);
    if (i == profile->n) {
        profile->n++;
        profile->rows[i].op = op;
    }
    profile->rows[i].seconds += clock_seconds() - start;
    profile->rows[i].calls++;
}

/* Mean rate of repeated products of n×n matrices over the time. */
static double mean_rate(Device *dev, void *memory, int64_t n, double seconds)
{
    Tensor all = tensor_matrix(memory, dev->precision.compute, 3 * n, n);
    Tensor a = tensor_slice_rows(all, 0, n), b = tensor_slice_rows(all, n, n), y = tensor_slice_rows(all, 2 * n, n);
    double start = clock_seconds(), flops = 0, passed = 0;
    do {
        op_gemm(dev, y, a, b, false, true, 1, 0);
        device_synchronise(dev);
        flops += 2.0 * (double)n * (double)n * (double)n;
        passed = clock_seconds() - start;
    } while (passed < seconds);
    return flops / passed;
}

double device_gemm_peak(Device *dev, double seconds)
{
    static const int64_t sizes[] = { 512, 1024, 1536 };
    enum { SIZES = sizeof sizes / sizeof *sizes };
    DType dtype = dev->precision.compute;
    int64_t most = 3 * sizes[SIZES - 1] * sizes[SIZES - 1];
    void *memory = device_alloc(dev, (size_t)most * dtype_bytes(dtype));
    if (memory == NULL)
        return 0;
    op_fill(dev, tensor_vector(memory, dtype, most), 0.01);
    double best = 0;
    for (int i = 0; i < SIZES; i++) {
        double rate = mean_rate(dev, memory, sizes[i], seconds / SIZES);
        best = rate > best ? rate : best;
    }
    device_free(dev, memory);
    return best;
}
