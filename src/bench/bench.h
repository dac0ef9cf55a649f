/* bench.h: the measurements of `loam bench`. Each prints its result, as text or as a JSON object. */
#pragma once

#include "device/profile.h"
#include "run/config/config.h"

typedef struct BenchOps {
    double seconds; /* to measure each operation */
    gboolean as_json;
} BenchOps;
/* Times every operation of a training step at the sizes of a configuration. */
bool bench_ops(const BenchOps *options, Config *config, GError **error);

typedef struct BenchStep {
    double seconds; /* to measure */
    char *trace;    /* file for the trace of one more step; NULL means none */
    gboolean profile, as_json;
} BenchStep;
/* Times a training step on all ranks. loaded: whether this process has a configuration; false: *error is set. */
bool bench_step(const BenchStep *options, const Config *config, bool loaded, GError **error);

typedef struct BenchComm {
    double seconds, most; /* to measure each collective at each size; MB of the largest message */
    char *out;            /* file for the measurements; NULL means none */
    gboolean as_json;
} BenchComm;
/* Times every collective between ranks. loaded: as in bench_step. */
bool bench_comm(const BenchComm *options, Config *config, bool loaded, GError **error);

typedef struct BenchGenerate {
    char *model, *device, *precision;    /* path of the model; NULL means cpu; NULL means that of training */
    int64_t batch, input, tokens, beams; /* prompts; tokens per prompt and per answer; 1 means greedy decoding */
    int64_t runs, threads;               /* measurements, of which the median is printed; 0 means one thread per core */
    gboolean profile, as_json;
} BenchGenerate;
/* Times generation. */
bool bench_generate(const BenchGenerate *options, GError **error);

/* A description of the device: "2 threads, amx, bf16" or "NVIDIA H200 (cuda:0, bf16)". g_free. */
char *bench_device(const Device *dev);

/* Prints the calls of each operation and its share of `seconds`, the wall-clock time that the profile covers. */
void bench_print_profile(const Profile *profile, double seconds);
/* The table of bench_print_profile as a JSON array of { op, share, calls }. json_decref. */
json_t *bench_profile_json(const Profile *profile, double seconds);

/* Sorts the numbers, of which there is at least one, and returns the median. */
double bench_median(double *numbers, size_t n);
