/* ops.c: `loam bench ops`: the speed of each operation of a training step. */
#include "base/json_line.h"
#include "bench/bench.h"
#include "bench/op_cases.h"
#include "nn/layers.h"
#include "plan/step_timer.h"
#include "run/compute_device.h"
#include "run/config/config.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#define MASKED 0.15 /* share of an encoder's tokens whose logits are computed */

typedef struct OpResult {
    const char *name;
    char shape[64];
    double seconds, flops, bytes; /* of one call of the operation */
    double peak;                  /* FLOP/s of the matrix products that were timed in turns with this operation */
} OpResult;

/* timed: the operation, its sizes, the device and the seconds of the measurement. */
static bool time_op(OpRig timed, Device *null, OpResult *result, GError **error)
{
    const OpCase *of = timed.of;
    OpRig counted = { .of = of, .sizes = timed.sizes, .dev = null, .runs = -1 };
    arena_init(&counted.arena, "bench", NULL, 0);
    null->counts = (DeviceCounts){ 0 };
    of->run(&counted);
    size_t bytes = counted.arena.peak;
    void *memory = device_alloc(timed.dev, bytes);
    if (memory == NULL)
        return fail_machine(error, "%s: no memory for %zu bytes", of->name, bytes);
    arena_init(&timed.arena, "bench", memory, bytes);
    timed.turns = g_array_new(false, false, sizeof(double));
    gemm_peak_open(&timed.gemm_peak, timed.dev);
    of->run(&timed);
    gemm_peak_complete(&timed.gemm_peak, MIN(OP_TURN_SECONDS, timed.seconds));
    *result = (OpResult){ .name = of->name,
                          .seconds = bench_median((double *)(void *)timed.turns->data, timed.turns->len),
                          .flops = null->counts.flops,
                          .bytes = null->counts.bytes,
                          .peak = gemm_peak_rate(&timed.gemm_peak).median };
    g_strlcpy(result->shape, timed.shape, sizeof result->shape);
    gemm_peak_clear(&timed.gemm_peak);
    g_array_unref(timed.turns);
    device_free(timed.dev, memory);
    return true;
}

static json_t *json_of(const OpResult *result)
{
    double share = result->flops > 0 ? result->flops / result->seconds / result->peak : NAN;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "op", result->name, "shape", result->shape, "seconds",
                     json_finite(result->seconds), "flops_per_s", json_finite(result->flops / result->seconds),
                     "bytes_per_s", json_finite(result->bytes / result->seconds), "peak_flops_per_s",
                     json_finite(result->peak), "share_of_peak", json_finite(share));
}

static void print_line(const OpResult *result)
{
    printf("%-32s %-20s %9.3f ms", result->name, result->shape, result->seconds * 1e3);
    if (result->flops > 0)
        printf(" %8.1f GFLOP/s %5.1f %% of %.0f\n", result->flops / result->seconds / 1e9,
               100 * result->flops / result->seconds / result->peak, result->peak / 1e9);
    else
        printf(" %8.1f GB/s\n", result->bytes / result->seconds / 1e9);
    fflush(stdout);
}

static bool measure_all(const BenchOps *options, Device *cpu, Device *null, const OpSizes *sizes, GError **error)
{
    json_t *list = json_array();
    bool done = true;
    g_autofree char *precision = precision_describe(cpu->precision), *device = bench_device(cpu);
    if (!options->as_json)
        printf("%s: %" PRId64 " samples of %d/%d tokens\n", device, sizes->samples, sizes->enc, sizes->dec);
    for (int i = 0; done && i < n_op_cases; i++) {
        OpResult result;
        if (!op_case_applies(&op_cases[i], sizes))
            continue;
        const OpRig rig = { .of = &op_cases[i], .sizes = *sizes, .dev = cpu, .runs = -1, .seconds = options->seconds };
        done = time_op(rig, null, &result, error);
        if (done && options->as_json)
            json_array_append_new(list, json_of(&result));
        else if (done)
            print_line(&result);
    }
    json_t *object = json_pack("{s:s, s:i, s:s, s:o}", "isa", cpu->isa, "threads", cpu->threads, "precision", precision,
                               "ops", list);
    if (done && options->as_json)
        return print_json_line(object, error);
    json_decref(object);
    return done;
}

bool bench_ops(const BenchOps *options, Config *config, GError **error)
{
    StepTimer plan;
    if (!step_timer_plan(&plan, config, error))
        return false;
    Precision precision = config_precision(config);
    OpSizes sizes = { .model = &config->model, .samples = plan.micro, .enc = plan.enc, .dec = plan.dec };
    double targets = plan.dec > 0 ? plan.dec : MASKED * plan.enc; /* target tokens per sample */
    sizes.logit_rows = head_chunk_rows(config->model.vocab, &precision, (int64_t)(targets * (double)plan.micro));
    Device *dev = compute_device_open(config->train.device, (int)config->train.threads, precision, error);
    if (dev == NULL)
        return false;
    Device *null = device_open_null_of(precision);
    bool done = measure_all(options, dev, null, &sizes, error);
    device_close(null);
    device_close(dev);
    return done;
}
