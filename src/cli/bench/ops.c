/* ops.c: `loam bench ops`: the speed of each operation of a training step. */
#include "base/text.h"
#include "cli/bench/bench.h"
#include "cli/bench/op_cases.h"
#include "cli/cli.h"
#include "nn/layers.h"
#include "plan/step_timer.h"
#include "run/compute_device.h"
#include "run/config/config.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define USAGE "loam bench ops [CONFIG.yaml] [--seconds S] [--json] [group.key=value]…"

static const char about[] =
    "Times every operation of a training step at the sizes of a configuration (by default T5-1.1-small with "
    "microbatches\n"
    "of 8 samples of 512 tokens), alternating with matrix products. GFLOP/s count the multiply-adds of matrix "
    "products\n"
    "and attention, and are also given as a share of the rate of those matrix products. GB/s count every operand "
    "once.\n"
    "\n"
    "  loam bench ops\n"
    "  loam bench ops configs/gpt2.yaml model.vocab=50257 train.micro_batch='2 samples' train.precision=bf16\n";

static double seconds = 0.3;
static gboolean as_json;
static const GOptionEntry entries[] = {
    CLI_VALUE("seconds", seconds, "seconds to measure each operation (default 0.3)", "S"),
    CLI_SWITCH("json", as_json, "one JSON object"),
    { 0 },
};

#define MASKED 0.15 /* share of an encoder's tokens whose logits are computed */

typedef struct OpResult {
    const char *name;
    char shape[64];
    double seconds, flops, bytes; /* of one call of the operation */
    double peak;                  /* FLOP/s of the matrix products that were timed in turns with this operation */
} OpResult;

static int rising(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(GArray *numbers)
{
    g_array_sort(numbers, rising);
    return g_array_index(numbers, double, numbers->len / 2);
}

static bool measure(Device *cpu, Device *null, const OpCase *of, const OpSizes *sizes, OpResult *result, GError **error)
{
    OpRig counted = { .of = of, .sizes = *sizes, .dev = null, .runs = -1 };
    OpRig timed = { .of = of, .sizes = *sizes, .dev = cpu, .runs = -1, .seconds = seconds };
    arena_init(&counted.arena, "bench", NULL, 0);
    null->counts = (DeviceCounts){ 0 };
    of->run(&counted);
    size_t bytes = counted.arena.peak;
    void *memory = device_alloc(cpu, bytes);
    if (memory == NULL)
        return fail_machine(error, "%s: no memory for %zu bytes", of->name, bytes);
    arena_init(&timed.arena, "bench", memory, bytes);
    timed.turns = g_array_new(false, false, sizeof(double));
    gemm_peak_open(&timed.gemm_peak, cpu);
    of->run(&timed);
    gemm_peak_complete(&timed.gemm_peak, MIN(OP_TURN_SECONDS, seconds));
    *result = (OpResult){ .name = of->name,
                          .seconds = median(timed.turns),
                          .flops = null->counts.flops,
                          .bytes = null->counts.bytes,
                          .peak = gemm_peak_rate(&timed.gemm_peak).median };
    g_strlcpy(result->shape, timed.shape, sizeof result->shape);
    gemm_peak_clear(&timed.gemm_peak);
    g_array_unref(timed.turns);
    device_free(cpu, memory);
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

static bool measure_all(Device *cpu, Device *null, const OpSizes *sizes, GError **error)
{
    json_t *list = json_array();
    bool done = true;
    g_autofree char *precision = precision_describe(cpu->precision), *device = bench_device(cpu);
    if (!as_json)
        printf("%s: %" PRId64 " samples of %d/%d tokens\n", device, sizes->samples, sizes->enc, sizes->dec);
    for (int i = 0; done && i < n_op_cases; i++) {
        OpResult result;
        if (!op_case_applies(&op_cases[i], sizes))
            continue;
        done = measure(cpu, null, &op_cases[i], sizes, &result, error);
        if (done && as_json)
            json_array_append_new(list, json_of(&result));
        else if (done)
            print_line(&result);
    }
    json_t *object = json_pack("{s:s, s:i, s:s, s:o}", "isa", cpu->isa, "threads", cpu->threads, "precision", precision,
                               "ops", list);
    if (done && as_json)
        return print_json_line(object, error);
    json_decref(object);
    return done;
}

/* Loads CONFIG.yaml, if one is given, and then the overrides. */
static bool load(Config *config, int argc, char **argv, GError **error)
{
    static char *const small[] = { "model.preset=t5-1.1-small", "train.micro_batch=8 samples" };
    if (argc > 1 && strchr(argv[1], '=') == NULL)
        return config_load_run(config, argv[1], argv + 2, argc - 2, error);
    g_autoptr(GPtrArray) overrides = g_ptr_array_new();
    for (size_t i = 0; i < G_N_ELEMENTS(small); i++)
        g_ptr_array_add(overrides, small[i]);
    for (int i = 1; i < argc; i++)
        g_ptr_array_add(overrides, argv[i]);
    return config_load(config, NULL, (char **)overrides->pdata, (int)overrides->len, error);
}

bool bench_ops(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (!(seconds > 0 && seconds <= 3600))
        return fail_user(error, "--seconds is %g, want seconds above 0, up to 3600", seconds);
    g_auto(Config) config = { 0 };
    StepTimer plan;
    if (!load(&config, argc, argv, error) || !step_timer_plan(&plan, &config, error))
        return false;
    Precision precision = config_precision(&config);
    OpSizes sizes = { .model = &config.model, .samples = plan.micro, .enc = plan.enc, .dec = plan.dec };
    double targets = plan.dec > 0 ? plan.dec : MASKED * plan.enc; /* target tokens per sample */
    sizes.logit_rows = head_chunk_rows(config.model.vocab, &precision, (int64_t)(targets * (double)plan.micro));
    Device *dev = compute_device_open(config.train.device, (int)config.train.threads, precision, error);
    if (dev == NULL)
        return false;
    Device *null = device_open_null_of(precision);
    bool done = measure_all(dev, null, &sizes, error);
    device_close(null);
    device_close(dev);
    return done;
}
