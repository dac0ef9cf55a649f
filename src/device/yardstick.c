#include "device/yardstick.h"

#include "base/clock.h"

#include <stdlib.h>

/* Rows and columns of the matrices. On CPUs larger and smaller ones were no faster. A GPU needs large ones; they take
 * at most a GPU_SHARE-th of the memory that it has free. */
enum { SIDE = 1024, GPU_SIDE = 8192, GPU_SHARE = 128 };
enum { GPU_QUEUED = 8 }; /* products of larger matrices between two waits, which would show beside one */
enum { RANDOM = 65536 }; /* numbers of the factors, repeated: a GPU multiplies constants faster than it does data */

#define TURN_SECONDS 0.01 /* shorter samples would lie within a burst, or within one thread's turn on a shared core */
#define ALLOWANCE    0.2  /* seconds of yardstick_turn beside its share */

static int64_t side_of(Device *dev)
{
    size_t room = device_room(dev), bytes = dtype_bytes(dev->precision.compute);
    int64_t side = *dev->gpu.name ? GPU_SIDE : SIDE;
    while (side > SIDE && 3 * (size_t)(side * side) * bytes > room / GPU_SHARE)
        side /= 2;
    return side;
}

static Tensor matrices(const Yardstick *y)
{
    return tensor_matrix(y->memory, y->dev->precision.compute, 3 * y->side, y->side);
}

/* Returns the FLOPs. */
static double multiply(const Yardstick *y)
{
    Tensor all = matrices(y);
    int n = y->side > SIDE ? GPU_QUEUED : 1;
    for (int i = 0; i < n; i++)
        op_gemm(y->dev, tensor_slice_rows(all, 2 * y->side, y->side), tensor_slice_rows(all, 0, y->side),
                tensor_slice_rows(all, y->side, y->side), false, true, 1, 0);
    device_synchronise(y->dev);
    return 2.0 * n * (double)y->side * (double)y->side * (double)y->side;
}

/* Uniform in (-1/2, 1/2), the first RANDOM numbers again and again. */
static void fill_factors(const Yardstick *y)
{
    static float numbers[RANDOM];
    Tensor all = tensor_vector(y->memory, y->dev->precision.compute, 3 * y->side * y->side);
    int64_t total = 2 * y->side * y->side;
    uint32_t state = 1;
    for (int i = 0; i < RANDOM; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = (float)(state >> 8) / 16777216.0f - 0.5f;
    }
    tensor_write(y->dev, tensor_slice_rows(all, 0, RANDOM), numbers, DT_F32);
    for (int64_t n = RANDOM; n < total; n *= 2)
        op_copy(y->dev, tensor_slice_rows(all, n, n < total - n ? n : total - n),
                tensor_slice_rows(all, 0, n < total - n ? n : total - n));
}

void yardstick_open(Yardstick *y, Device *dev)
{
    int64_t side = side_of(dev);
    size_t bytes = 3 * (size_t)(side * side) * dtype_bytes(dev->precision.compute);
    *y = (Yardstick){ .dev = dev, .side = side, .memory = device_alloc(dev, bytes) };
    if (y->memory) {
        y->bytes = bytes;
        fill_factors(y);
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
        flops += multiply(y);
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
