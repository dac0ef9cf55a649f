/* gemm_peak.h: measures the FLOP/s of large matrix products on a device, between other work: the peak by which the
 * speed of that work is divided, as in MFU (model FLOPs utilisation). Virtual machines may run up to three times faster
 * for the first tenths of a second after a pause, and machines are shared, so a peak that was measured only once,
 * before or after the work, would not be comparable with it. */
#pragma once

#include "device/device.h"

enum { GEMM_PEAK_SAMPLES = 32, GEMM_PEAK_FEWEST = 3 };

typedef struct GemmPeak {
    Device *dev;
    int64_t side; /* rows and columns of the matrices */
    void *memory; /* the two operands and the result; NULL if there was too little memory: then no samples are taken */
    size_t bytes; /* size of `memory` */
    double samples[GEMM_PEAK_SAMPLES]; /* FLOP/s: the newest samples, in a ring buffer */
    int64_t n;                         /* samples taken so far */
    double opened, spent, last; /* opened: clock_seconds() at opening; spent: seconds that all samples took; last:
                                   seconds of the last sample */
} GemmPeak;

/* Median and quartiles of the samples in FLOP/s: a quarter of the samples lies below `low`, a quarter above `high`. All
 * 0 without samples. */
typedef struct PeakRate {
    double median, low, high;
} PeakRate;

/* Allocates three matrices in the compute dtype of the device, 1024 × 1024 on the CPU and up to 8192 × 8192 on a GPU,
 * and multiplies them once. */
void gemm_peak_open(GemmPeak *peak, Device *dev);
void gemm_peak_clear(GemmPeak *peak);

/* Takes one sample: after a product that is not counted, repeats the product for `seconds` (at least once) and keeps
 * the mean FLOP/s. */
void gemm_peak_measure(GemmPeak *peak, double seconds);
/* Takes such samples until there are GEMM_PEAK_FEWEST. */
void gemm_peak_complete(GemmPeak *peak, double seconds);
/* To be called between pieces of work, such as training steps. Takes a sample of about 10 ms unless all samples
 * together would take more than 0.2 s + share · (seconds since gemm_peak_open); the first GEMM_PEAK_FEWEST samples are
 * always taken. Returns the seconds that it took. */
double gemm_peak_turn(GemmPeak *peak, double share);
/* Whether gemm_peak_turn would take a sample at the time `now` of clock_seconds(). */
bool gemm_peak_due(const GemmPeak *peak, double share, double now);

/* The rate over the newest GEMM_PEAK_SAMPLES samples; zeros if there are fewer than GEMM_PEAK_FEWEST, too few for
 * quartiles. */
PeakRate gemm_peak_rate(const GemmPeak *peak);

/* Measures the peak FLOP/s of `dev` for `seconds`, without other work; 0 if there is too little memory. */
double device_gemm_peak(Device *dev, double seconds);
