/* gemm_peak.h: the rate of matrix products of a device, sampled in turns with other work: what the speed of that work
 * is given as a share of (model FLOPs utilisation). Hosts lend processors that run up to three times faster for the
 * first tenths of a second after a pause, and machines are shared, so a rate that is measured once, before or after the
 * work, says little about the rate that the work could have had. */
#pragma once

#include "device/device.h"

enum { GEMM_PEAK_SAMPLES = 32, GEMM_PEAK_FEWEST = 3 };

typedef struct GemmPeak {
    Device *dev;
    int64_t side;                      /* rows and columns of the matrices */
    void *memory;                      /* the two factors and the result; NULL means too little memory: no samples */
    size_t bytes;                      /* of this memory */
    double samples[GEMM_PEAK_SAMPLES]; /* FLOP/s: the newest ones, in a ring */
    int64_t n;                         /* samples taken so far */
    double opened, spent, last;        /* clock_seconds() at opening; seconds of all samples, of the last one */
} GemmPeak;

/* FLOP/s; all 0 where there are no samples. A quarter of the samples lies below `low`, and above `high`. */
typedef struct PeakRate {
    double median, low, high;
} PeakRate;

/* Takes memory for three matrices in the compute dtype of the device, 1024 × 1024 on the CPU and up to 8192 × 8192 on a
 * GPU, and multiplies once. */
void gemm_peak_open(GemmPeak *peak, Device *dev);
void gemm_peak_clear(GemmPeak *peak);

/* Adds a sample: the mean rate of products repeated for these seconds, at least one, after one that is not counted. */
void gemm_peak_measure(GemmPeak *peak, double seconds);
/* Adds such samples until there are GEMM_PEAK_FEWEST. */
void gemm_peak_complete(GemmPeak *peak, double seconds);
/* To be called between pieces of work: measures for some 10 ms where the time of all samples stays below this share of
 * the time since gemm_peak_open, plus 0.2 s, so that a run has some samples soon. The first GEMM_PEAK_FEWEST are always
 * taken. Returns the seconds that this took. */
double gemm_peak_turn(GemmPeak *peak, double share);
/* Whether gemm_peak_turn would measure at this time. */
bool gemm_peak_due(const GemmPeak *peak, double share, double now);

/* Of the newest GEMM_PEAK_SAMPLES samples; zeros where there are fewer than GEMM_PEAK_FEWEST, whose spread would tell
 * nothing. */
PeakRate gemm_peak_rate(const GemmPeak *peak);

/* The mean rate of products for these seconds, by themselves; 0 means too little memory. */
double device_gemm_peak(Device *dev, double seconds);
