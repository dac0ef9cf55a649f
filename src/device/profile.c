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

/* Best of repeated products of n×n matrices within the time. */
static double best_rate(Device *dev, float *memory, int64_t n, double seconds)
{
    Tensor a = tensor_matrix(memory, DT_F32, n, n), b = tensor_matrix(memory + n * n, DT_F32, n, n),
           y = tensor_matrix(memory + 2 * n * n, DT_F32, n, n);
    double best = 0, end = clock_seconds() + seconds;
    while (clock_seconds() < end) {
        double start = clock_seconds();
        op_gemm(dev, y, a, b, false, true, 1, 0);
        device_synchronise(dev);
        double rate = 2.0 * (double)n * (double)n * (double)n / (clock_seconds() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

double device_gemm_peak(Device *dev, double seconds)
{
    static const int64_t sizes[] = { 512, 1024, 1536 };
    enum { SIZES = sizeof sizes / sizeof *sizes };
    float *memory = device_alloc(dev, (size_t)(3 * sizes[SIZES - 1] * sizes[SIZES - 1]) * sizeof(float));
    if (memory == NULL)
        return 0;
    op_fill(dev, tensor_vector(memory, DT_F32, 3 * sizes[SIZES - 1] * sizes[SIZES - 1]), 0.01);
    double best = 0;
    for (int i = 0; i < SIZES; i++) {
        double rate = best_rate(dev, memory, sizes[i], seconds / SIZES);
        best = rate > best ? rate : best;
    }
    device_free(dev, memory);
    return best;
}
