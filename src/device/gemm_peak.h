/* gemm_peak.h: measures the FLOP/s of large matrix products on a device: the peak that the speed of training is divided
 * by in MFU (model FLOPs utilisation). The peak is measured again and again between training steps: virtual machines
 * may run up to three times faster for the first tenths of a second after a pause, and machines are shared, so a peak
 * that was measured only once would not be comparable with the speed of the steps.
 * LOAM_PEAK_SIDE is for tests, most of whose runs are so short that they would measure more than they train: with it,
 * matrices on the CPU have so many rows and columns (at least 256) instead of 1024, and a turn is one product long. */
#pragma once

#include "device/device.h"

/* Largest number of samples that are kept, and smallest number that a rate needs. */
enum { GEMM_PEAK_SAMPLES = 32, GEMM_PEAK_FEWEST = 3 };

/* A measurement that is going on. A sample is one value of FLOP/s. */
typedef struct GemmPeak {
    Device *dev;
    int64_t side; /* rows and columns of the matrices */
    void *memory; /* the two operands and the result of the product; NULL if there was not enough memory: then no
                     samples are taken */
    size_t bytes; /* size of `memory` */
    double samples[GEMM_PEAK_SAMPLES]; /* the newest samples in FLOP/s, as a ring buffer */
    int64_t n;                         /* number of samples taken so far */
    double opened, spent, last; /* opened: clock_seconds() at opening; spent: seconds that all samples took; last:
                                   seconds of the last sample */
} GemmPeak;

/* Median and quartiles of the samples in FLOP/s: a quarter of the samples is below `low`, a quarter above `high`.
 * With fewer than GEMM_PEAK_FEWEST samples all three are 0. */
typedef struct PeakRate {
    double median, low, high;
} PeakRate;

/* Allocates three matrices in the compute dtype of the device, 1024 × 1024 on the CPU and up to 8192 × 8192 on a GPU,
 * and multiplies them, on a GPU several times (fewer would measure the waiting). */
void gemm_peak_open(GemmPeak *peak, Device *dev);
void gemm_peak_clear(GemmPeak *peak);

/* Waits for the work of the device and takes one sample: after one product that is not timed, repeats the product until
 * `seconds` have passed, at least once, and keeps the mean FLOP/s. Does nothing without memory. */
void gemm_peak_measure(GemmPeak *peak, double seconds);
/* Takes samples with gemm_peak_measure until there are GEMM_PEAK_FEWEST samples; none without memory. */
void gemm_peak_complete(GemmPeak *peak, double seconds);
/* To be called between training steps. Takes a sample of about 10 ms, unless all samples together would then have taken
 * more than 0.2 s + share · (seconds since gemm_peak_open); the first GEMM_PEAK_FEWEST samples are always taken.
 * Returns the seconds that the call took. */
double gemm_peak_turn(GemmPeak *peak, double share);
/* Whether gemm_peak_turn would take a sample at the time `now` of clock_seconds(). */
bool gemm_peak_due(const GemmPeak *peak, double share, double now);

/* Median and quartiles of the newest GEMM_PEAK_SAMPLES samples; zeros if there are fewer than GEMM_PEAK_FEWEST samples,
 * too few for quartiles. */
PeakRate gemm_peak_rate(const GemmPeak *peak);

/* Measures the FLOP/s of large matrix products for `seconds`, for an otherwise idle device; 0 if memory is short. */
double device_gemm_peak(Device *dev, double seconds);
