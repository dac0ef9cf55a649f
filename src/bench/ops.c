/* ops.c: `loam bench ops`: the speed of each operation of a training step. One microbatch and one update run; the first
 * call of each operation with tensors of certain shapes is repeated, in turns with matrix products. */
#include "base/clock.h"
#include "base/json_line.h"
#include "bench/bench.h"
#include "plan/step_timer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define TURN_SECONDS 0.02   /* length of one turn of an operation, and of one turn of matrix products */
enum { MOST_QUEUED = 256 }; /* runs of an operation between two waits */

typedef struct OpsBench {
    const BenchOps *options;
    StepTimer timer;
    Profile profile;
    GHashTable *measured; /* texts "gemm y 4096x512 f32, …" */
    json_t *list;         /* of the operations so far */

    /* The operation that is measured, or was measured last. */
    size_t event;      /* index of its event in `profile` */
    int64_t runs;      /* runs finished in this turn; -1 means that the turn's first, uncounted run has not finished */
    int queued;        /* runs of this turn that are queued before the next wait */
    double end;        /* time at which the measurement ends; 0 means that no operation is measured */
    double turn_start; /* time at which the turn's first run ended */
    GArray *turns;     /* double: mean seconds per run, one number per turn */
} OpsBench;

/* ---- results ---- */

static json_t *json_of(const ProfileEvent *op, double seconds, double peak)
{
    double share = op->flops > 0 ? op->flops / seconds / peak : NAN;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "op", op->name, "shape", op->shapes, "seconds",
                     json_finite(seconds), "flops_per_s", json_finite(op->flops / seconds), "bytes_per_s",
                     json_finite(op->bytes / seconds), "peak_flops_per_s", json_finite(peak), "share_of_peak",
                     json_finite(share));
}

static void print_line(const ProfileEvent *op, double seconds, double peak)
{
    char rate[64];
    if (op->flops > 0)
        snprintf(rate, sizeof rate, "%8.1f GFLOP/s %5.1f %% of %.0f", op->flops / seconds / 1e9,
                 100 * op->flops / seconds / peak, peak / 1e9);
    else
        snprintf(rate, sizeof rate, "%8.1f GB/s", op->bytes / seconds / 1e9);
    printf("%-17s %9.3f ms %-34s %s\n", op->name, seconds * 1e3, rate, op->shapes);
    fflush(stdout);
}

/* Prints the operation that was measured last. */
static void end_measurement(OpsBench *b)
{
    if (b->turns->len == 0)
        return;
    const ProfileEvent *op = &b->profile.events[b->event];
    const double seconds = bench_median((double *)(void *)b->turns->data, b->turns->len),
                 peak = gemm_peak_rate(&b->timer.gemm_peak).median;
    if (b->options->as_json)
        json_array_append_new(b->list, json_of(op, seconds, peak));
    else
        print_line(op, seconds, peak);
    g_array_set_size(b->turns, 0);
}

/* ---- measurement ---- */

/* Returns false if the operation was already measured with tensors of these shapes. */
static bool begin_measurement(OpsBench *b, const char *op, const struct Operand *operands, int n)
{
    char shapes[PROFILE_SHAPES];
    profile_shapes(shapes, operands, n);
    if (!g_hash_table_add(b->measured, g_strdup_printf("%s %s", op, shapes)))
        return false;
    end_measurement(b);
    b->event = b->profile.n_events;
    b->end = clock_seconds() + b->options->seconds;
    b->runs = -1;
    b->timer.gemm_peak.n = 0;
    return true;
}

/* Products are no operation of the step. */
static void measure_products(OpsBench *b, Device *dev, double turn)
{
    dev->profile = NULL;
    gemm_peak_measure(&b->timer.gemm_peak, turn);
    if (clock_seconds() >= b->end)
        gemm_peak_complete(&b->timer.gemm_peak, turn);
    dev->profile = &b->profile;
}

/* Profile.again, which is first asked before the operation has run. After one run that is not counted, the operation is
 * repeated for a turn of about 20 ms; then matrix products are timed for a turn (gemm_peak.h); and so on until
 * `seconds` have passed. The first run of a turn is waited for; the others are queued behind each other, as many as fit
 * in the turn, so that a GPU does not wait for the host between them. */
static bool run_again(Device *dev, const char *op, const struct Operand *operands, int n)
{
    OpsBench *b = dev->profile->again_context;
    const double turn = MIN(TURN_SECONDS, b->options->seconds);
    if (b->queued > 1) { /* more runs of the turn */
        b->queued--;
        b->runs++;
        return true;
    }
    b->queued = 0;
    if (b->end == 0)
        return begin_measurement(b, op, operands, n);
    device_synchronise(dev);
    const double now = clock_seconds();
    if (b->runs++ < 0) {
        b->turn_start = now;
        return true;
    }
    const double took = now - b->turn_start, mean = took / (double)b->runs;
    if (took < turn) {
        b->queued = mean * MOST_QUEUED > turn - took ? (int)((turn - took) / mean) + 1 : MOST_QUEUED;
        return true;
    }
    g_array_append_val(b->turns, mean);
    measure_products(b, dev, turn);
    b->runs = -1;
    if (clock_seconds() < b->end)
        return true;
    b->end = 0;
    return false;
}

static bool measure_step(OpsBench *b, GError **error)
{
    const StepTimer *timer = &b->timer;
    StepTimes unused;
    g_autofree char *precision = precision_describe(timer->dev->precision), *device = bench_device(timer->dev);
    if (!b->options->as_json)
        printf("%s: %" PRId64 " samples of %d/%d tokens\n", device, timer->micro, timer->enc, timer->dec);
    step_timer_run(&b->timer, 0, NULL, &unused); /* on a GPU it chooses the algorithms of products */
    step_timer_trace(&b->timer, &b->profile);
    end_measurement(b);
    json_t *object = json_pack("{s:s, s:i, s:s, s:O}", "isa", timer->dev->isa, "threads", timer->dev->threads,
                               "precision", precision, "ops", b->list);
    if (b->options->as_json)
        return print_json_line(object, error);
    json_decref(object);
    return true;
}

bool bench_ops(const BenchOps *options, Config *config, GError **error)
{
    g_autoptr(GHashTable) measured = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GArray) turns = g_array_new(false, false, sizeof(double));
    OpsBench b = { .options = options, .measured = measured, .list = json_array(), .turns = turns };
    b.profile = (Profile){ .again = run_again, .again_context = &b };
    bool done = step_timer_open(&b.timer, config, error);
    b.timer.accum = 1;
    done = done && measure_step(&b, error);
    profile_clear(&b.profile);
    json_decref(b.list);
    step_timer_clear(&b.timer);
    return done;
}
