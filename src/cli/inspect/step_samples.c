#include "cli/inspect/step_samples.h"

#include "base/log.h"
#include "run/checkpoint/checkpoint.h"
#include "run/metric_lines.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <math.h>

#define FAR ((int64_t)1000000000000000000)

/* What a run had read after a step. */
typedef struct Point {
    int64_t step, samples, tokens;
} Point;

/* The last known point before a step, and the first one at or after it; its step is -1 if there is none. */
typedef struct Around {
    int64_t step;
    Point before, after;
} Around;

static void take_point(Around *around, Point point)
{
    if (point.step < around->step && point.step >= around->before.step)
        around->before = point;
    else if (point.step >= around->step && (around->after.step < 0 || point.step <= around->after.step))
        around->after = point;
}

static void take_logged(Around *around, const char *dir)
{
    MetricReader reader;
    if (!metric_reader_open(&reader, dir, NULL))
        return;
    while (metric_reader_next(&reader)) {
        const MetricRecord *record = &reader.record;
        const double samples = metric_number(record->json, "samples"), tokens = metric_number(record->json, "tokens");
        if (record->kind == METRIC_TRAIN && record->step >= 0 && samples >= 0 && samples <= 0x1p53)
            take_point(around, (Point){ record->step, (int64_t)samples, tokens <= 0x1p53 ? (int64_t)tokens : 0 });
    }
    metric_reader_close(&reader, NULL);
}

static void take_saved(Around *around, const char *dir)
{
    TrainState state;
    g_autoptr(GArray) steps = run_checkpoints(dir);
    for (guint i = 0; i < steps->len; i++) {
        g_autofree char *folder = run_checkpoint_path(dir, g_array_index(steps, int64_t, i));
        if (checkpoint_state(folder, &state, NULL))
            take_point(around, (Point){ state.steps, state.samples, state.tokens });
    }
}

/* The options by which samples are counted. */
typedef struct Counting {
    BatchSchedule batches;
    SkipRange skips[SKIP_RANGES];
    int n_skips;
} Counting;

static int64_t after_skips(const Counting *by, Point at)
{
    for (int64_t next;
         (next = config_skip_range(by->skips, by->n_skips, &by->batches, at.samples, at.tokens)) > at.samples;)
        at.samples = next;
    return at.samples;
}

/* Number of next steps, at most `most`, that read as many samples as the next one and skip none. at: after_skips. */
static int64_t steps_alike(const Counting *by, Point at, int64_t batch, int64_t most)
{
    int64_t n = MIN(most, batch_lasts(&by->batches, at.samples, at.tokens));
    for (int i = 0; i < by->n_skips; i++)
        if (by->skips[i].first >= at.samples)
            n = MIN(n, (by->skips[i].first - at.samples) / batch);
    return n;
}

/* The point after step `step`, as the options lead to it. The counts of many steps stop at FAR. */
static Point advance(const Counting *by, Point at, int64_t step)
{
    while (at.step < step) {
        at.samples = after_skips(by, at);
        const int64_t batch = batch_at(&by->batches, at.samples, at.tokens), length = by->batches.input_length,
                      n = steps_alike(by, at, batch, step - at.step),
                      samples = n <= (FAR - at.samples) / batch ? n * batch : MAX(batch, FAR - at.samples);
        at = (Point){ at.step + n, at.samples + samples,
                      samples <= (FAR - at.tokens) / length ? at.tokens + samples * length : FAR };
    }
    return at;
}

StepSamples step_samples(const Config *config, const char *dir, int64_t step)
{
    Counting by;
    Around around = { .step = step, .after = { .step = -1 } };
    config_batch_schedule(config, true, &by.batches, NULL);
    config_skip_ranges(config, by.skips, &by.n_skips, NULL);
    if (dir) {
        take_logged(&around, dir);
        take_saved(&around, dir);
    }
    Point at = advance(&by, around.before, step - 1);
    at.samples = after_skips(&by, at);
    const StepSamples samples = { at.samples, advance(&by, at, step).samples - at.samples };
    const Point before = around.before, after = around.after;
    if (after.step < 0 || advance(&by, at, after.step).samples == after.samples)
        return samples;
    const int64_t n = MAX(1, (after.samples - before.samples) / (after.step - before.step));
    if (after.step > before.step + 1)
        log_warning("%s read samples %" PRId64 " to %" PRId64 " in steps %" PRId64 " to %" PRId64
                    ", with another train.batch or train.skip_samples than it has now; which of them were step %" PRId64
                    " is a guess",
                    dir, before.samples, after.samples - 1, before.step + 1, after.step, step);
    return (StepSamples){ after.samples - n * (after.step - step + 1), n };
}
