#include "device/gemm_peak.h"

#include "base/clock.h"
#include "base/order.h"

#include <stdlib.h>

/* Rows and columns of the matrices. On CPUs, other sizes were no faster. A GPU needs large matrices; they take at most
 * 1 / GPU_SHARE of its free memory. */
enum { SIDE = 1024, GPU_SIDE = 8192, GPU_SHARE = 128 };
enum { GPU_QUEUED = 8 }; /* products between two waits for a GPU, so that the time of waiting is negligible */
enum {
    RANDOM = 65536
}; /* random numbers that fill the operands, repeated: a GPU multiplies constants faster than random data */

#define TURN_SECONDS 0.01 /* shorter samples would lie within a burst, or within one thread's turn on a shared core */
#define ALLOWANCE    0.2  /* seconds that gemm_peak_turn may use in addition to its share */

/* LOAM_PEAK_SIDE, or 0 without it. */
static int64_t side_for_tests(void)
{
    const char *side = getenv("LOAM_PEAK_SIDE");
    return side ? strtol(side, NULL, 10) : 0;
}

static int64_t side_of(Device *dev)
{
    if (!*dev->gpu.name && side_for_tests() > 0)
        return side_for_tests();
    size_t available = device_memory_available(dev), bytes = dtype_bytes(dev->precision.compute);
    int64_t side = *dev->gpu.name ? GPU_SIDE : SIDE;
    while (side > SIDE && 3 * (size_t)(side * side) * bytes > available / GPU_SHARE)
        side /= 2;
    return side;
}

static Tensor matrices(const GemmPeak *peak)
{
    return tensor_matrix(peak->memory, peak->dev->precision.compute, 3 * peak->side, peak->side);
}

/* Returns the FLOPs. */
static double multiply_once(const GemmPeak *peak)
{
    Tensor all = matrices(peak);
    int n = peak->side > SIDE ? GPU_QUEUED : 1;
    for (int i = 0; i < n; i++)
        op_gemm(peak->dev, tensor_slice_rows(all, 2 * peak->side, peak->side), tensor_slice_rows(all, 0, peak->side),
                tensor_slice_rows(all, peak->side, peak->side), false, true, 1, 0);
    device_synchronise(peak->dev);
    return 2.0 * n * (double)peak->side * (double)peak->side * (double)peak->side;
}

/* Uniform in (-1/2, 1/2), the first RANDOM numbers again and again. */
static void fill_factors(const GemmPeak *peak)
{
    static float numbers[RANDOM];
    Tensor all = tensor_vector(peak->memory, peak->dev->precision.compute, 3 * peak->side * peak->side);
    int64_t total = 2 * peak->side * peak->side;
    uint32_t state = 1;
    for (int i = 0; i < RANDOM; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = (float)(state >> 8) / 16777216.0f - 0.5f;
    }
    tensor_write(peak->dev, tensor_slice_rows(all, 0, RANDOM), numbers, DT_F32);
    for (int64_t n = RANDOM; n < total; n *= 2)
        op_copy(peak->dev, tensor_slice_rows(all, n, n < total - n ? n : total - n),
                tensor_slice_rows(all, 0, n < total - n ? n : total - n));
}

void gemm_peak_open(GemmPeak *peak, Device *dev)
{
    int64_t side = side_of(dev);
    size_t bytes = 3 * (size_t)(side * side) * dtype_bytes(dev->precision.compute);
    *peak = (GemmPeak){ .dev = dev, .side = side, .memory = device_alloc(dev, bytes) };
    if (peak->memory) {
        peak->bytes = bytes;
        fill_factors(peak);
        multiply_once(peak);
    }
    peak->opened = clock_seconds();
}

void gemm_peak_clear(GemmPeak *peak)
{
    if (peak->memory)
        device_free(peak->dev, peak->memory);
    *peak = (GemmPeak){ 0 };
}

void gemm_peak_measure(GemmPeak *peak, double seconds)
{
    if (peak->memory == NULL)
        return;
    device_synchronise(peak->dev); /* earlier work that is queued is no part of the sample */
    double begun = clock_seconds();
    multiply_once(peak); /* brings the matrices into the caches */
    double start = clock_seconds(), flops = 0, passed = 0;
    do {
        flops += multiply_once(peak);
        passed = clock_seconds() - start;
    } while (passed < seconds);
    peak->samples[peak->n++ % GEMM_PEAK_SAMPLES] = flops / passed;
    peak->last = clock_seconds() - begun;
    peak->spent += peak->last;
}

void gemm_peak_complete(GemmPeak *peak, double seconds)
{
    while (peak->memory && peak->n < GEMM_PEAK_FEWEST)
        gemm_peak_measure(peak, seconds);
}

bool gemm_peak_due(const GemmPeak *peak, double share, double now)
{
    return peak->n < GEMM_PEAK_FEWEST || peak->spent + peak->last <= ALLOWANCE + share * (now - peak->opened);
}

double gemm_peak_turn(GemmPeak *peak, double share)
{
    double before = peak->spent;
    if (gemm_peak_due(peak, share, clock_seconds()))
        gemm_peak_measure(peak, side_for_tests() > 0 ? 0 : TURN_SECONDS);
    return peak->spent - before;
}

PeakRate gemm_peak_rate(const GemmPeak *peak)
{
    double sorted[GEMM_PEAK_SAMPLES];
    int n = peak->n < GEMM_PEAK_SAMPLES ? (int)peak->n : GEMM_PEAK_SAMPLES;
    if (n < GEMM_PEAK_FEWEST)
        return (PeakRate){ 0 };
    for (int i = 0; i < n; i++)
        sorted[i] = peak->samples[i];
    qsort(sorted, (size_t)n, sizeof *sorted, order_f64);
    return (PeakRate){ .median = sorted[n / 2], .low = sorted[n / 4], .high = sorted[n - 1 - n / 4] };
}

double device_gemm_peak(Device *dev, double seconds)
{
    GemmPeak peak;
    gemm_peak_open(&peak, dev);
    gemm_peak_complete(&peak, seconds / GEMM_PEAK_FEWEST);
    PeakRate rate = gemm_peak_rate(&peak);
    gemm_peak_clear(&peak);
    return rate.median;
}
