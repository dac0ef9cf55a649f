#include "device/yardstick.h"

#include "base/clock.h"

#include <stdlib.h>

enum { SIDE = 1024 }; /* of the matrices; larger and smaller ones were no faster */

#define TURN_SECONDS 0.01 /* shorter samples would lie within a burst, or within one thread's turn on a shared core */
#define ALLOWANCE    0.2  /* seconds of yardstick_turn beside its share */

static void multiply(const Yardstick *y)
{
    Tensor all = tensor_matrix(y->memory, y->dev->precision.compute, (int64_t)3 * SIDE, SIDE);
    op_gemm(y->dev, tensor_slice_rows(all, (int64_t)2 * SIDE, SIDE), tensor_slice_rows(all, 0, SIDE),
            tensor_slice_rows(all, SIDE, SIDE), false, true, 1, 0);
    device_synchronise(y->dev);
}

void yardstick_open(Yardstick *y, Device *dev)
{
    DType dtype = dev->precision.compute;
    int64_t n = (int64_t)3 * SIDE * SIDE;
    *y = (Yardstick){ .dev = dev, .memory = device_alloc(dev, (size_t)n * dtype_bytes(dtype)) };
    if (y->memory) {
        op_fill(dev, tensor_vector(y->memory, dtype, n), 0.01);
        multiply(y);
    }
    y->opened = clock_seconds();
}

void yardstick_clear(Yardstick *y)
{
    if (y->memory)
        device_free(y->dev, y->memory);
    *y = (Yardstick){ 0 };
}

void yardstick_measure(Yardstick *y, double seconds)
{
    if (y->memory == NULL)
        return;
    device_synchronise(y->dev); /* work that is queued is not the yardstick's */
    double begun = clock_seconds();
    multiply(y); /* brings the matrices into the caches */
    double start = clock_seconds(), flops = 0, passed = 0;
    do {
        multiply(y);
        flops += 2.0 * SIDE * SIDE * SIDE;
        passed = clock_seconds() - start;
    } while (passed < seconds);
    y->samples[y->n++ % YARDSTICK_SAMPLES] = flops / passed;
    y->last = clock_seconds() - begun;
    y->spent += y->last;
}

void yardstick_complete(Yardstick *y, double seconds)
{
    while (y->memory && y->n < YARDSTICK_FEWEST)
        yardstick_measure(y, seconds);
}

bool yardstick_due(const Yardstick *y, double share, double now)
{
    return y->n < YARDSTICK_FEWEST || y->spent + y->last <= ALLOWANCE + share * (now - y->opened);
}

double yardstick_turn(Yardstick *y, double share)
{
    double before = y->spent;
    if (yardstick_due(y, share, clock_seconds()))
        yardstick_measure(y, TURN_SECONDS);
    return y->spent - before;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

PeakRate yardstick_rate(const Yardstick *y)
{
    double sorted[YARDSTICK_SAMPLES];
    int n = y->n < YARDSTICK_SAMPLES ? (int)y->n : YARDSTICK_SAMPLES;
    if (n < YARDSTICK_FEWEST)
        return (PeakRate){ 0 };
    for (int i = 0; i < n; i++)
        sorted[i] = y->samples[i];
    qsort(sorted, (size_t)n, sizeof *sorted, rising);
    return (PeakRate){ .median = sorted[n / 2], .low = sorted[n / 4], .high = sorted[n - 1 - n / 4] };
}

double device_gemm_peak(Device *dev, double seconds)
{
    Yardstick y;
    yardstick_open(&y, dev);
    yardstick_complete(&y, seconds / YARDSTICK_FEWEST);
    PeakRate rate = yardstick_rate(&y);
    yardstick_clear(&y);
    return rate.median;
}
