/* log_lines.c: the log lines of a run (train.log_every): means over the steps since the last one, the window. */
#include "base/machine.h"
#include "train/services/service.h"

/* Sums over the steps since the last log line. */
typedef struct Window {
    double started, paused_s; /* clock_seconds() and RunClock.paused_s at the last log line */
    int64_t first;            /* step of the last log line */
    StepSpent cost;
    int64_t tokens, room, samples, own_samples; /* as in StepRecord and StepBatch */
} Window;

typedef struct Log {
    TrainState *counters; /* window* */
    Every every;
    Window window;
    double sample_flops;
} Log;

static void begin_window(Log *log, const Trainer *t)
{
    log->window = (Window){ .started = clock_seconds(), .paused_s = t->clock.paused_s, .first = t->state.steps };
}

static void *log_lines_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    Log *log = g_new0(Log, 1);
    log->every = trainer_every(t, t->config.train.log_every);
    log->sample_flops = trainer_sample_flops(t);
    begin_window(log, t);
    return log;
}

static unsigned log_lines_due(void *own, G_GNUC_UNUSED const Trainer *t, const EveryCounts *counts)
{
    return every_due(&((Log *)own)->every, counts) ? DUE_LOG : 0;
}

static Verdict log_lines_at_start(void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    begin_window(own, t);
    return VERDICT_GO_ON;
}

/* The counters of TrainState that start again at every log line. */
static void log_lines_count(TrainState *state, const Trainer *t)
{
    const StepRecord *step = &t->step;
    const double clip_norm = t->config.optim.clip_norm;
    UpdateSums *sums = &state->window_updates;
    state->window_skipped += !step->updated;
    state->window_nan += !loss_sums_finite(&step->sums);
    if (!step->updated)
        return;
    state->window_steps++;
    loss_sums_add(&state->window, &step->sums);
    sums->updates++;
    sums->tokens += step->tokens;
    sums->samples += t->batch.samples;
    sums->clipped += clip_norm > 0 && step->norm > clip_norm;
    sums->norms += step->norm;
}

static void add_to_window(Window *window, const Trainer *t)
{
    const StepSpent *cost = &t->step.cost;
    window->cost.data_s += cost->data_s;
    window->cost.passes_s += cost->passes_s;
    window->cost.update_s += cost->update_s;
    window->cost.comm_wait_s += cost->comm_wait_s;
    window->cost.sent_bytes += cost->sent_bytes;
    window->tokens += t->step.tokens;
    window->room += t->step.room;
    window->samples += t->batch.samples;
    window->own_samples += t->batch.own_samples;
}

/* If no step of the window made an update, as while fp16's loss scale falls, the loss is that of the last step. */
static void write_log_lines(const Log *log, const Trainer *t)
{
    const Window *window = &log->window;
    const StepRecord *step = &t->step;
    TrainState state = t->state;
    if (state.window_steps == 0)
        state.window = step->sums;
    const double elapsed = clock_seconds() - window->started - (t->clock.paused_s - window->paused_s),
                 steps = (double)MAX(state.steps - window->first, 1),
                 fill = (double)window->tokens / (double)window->room;
    TrainRecord record = { .state = &state,
                           .lr = step->lr,
                           .grad_norm = step->norm,
                           .loss_scale = t->config.train.precision == PRECISION_FP16 ? step->loss_scale : 0,
                           .clips = t->config.optim.clip_norm > 0,
                           .begins = t->due & DUE_LOG,
                           .elapsed_s = elapsed,
                           .waited_s = window->cost.data_s,
                           .computed_s = window->cost.passes_s + window->cost.update_s - window->cost.comm_wait_s,
                           .own_samples = window->own_samples,
                           .epochs = (double)state.samples / (double)loader_epoch_packed(t->train),
                           .tokens_per_s = (double)window->tokens / elapsed,
                           .step_s = elapsed / steps,
                           .samples_per_s = (double)window->samples / elapsed,
                           .batch = t->batch.samples,
                           .ranks = comm_size(t->mesh.world),
                           .data_wait = window->cost.data_s / elapsed,
                           .comm_wait = window->cost.comm_wait_s / elapsed,
                           .sent_bytes = (double)window->cost.sent_bytes / steps,
                           .fill = fill,
                           .memory = machine_resident(),
                           .flops_per_s = fill * log->sample_flops * (double)window->samples / elapsed,
                           .left_s = trainer_seconds_left(t),
                           .total_steps = MAX(t->length.steps, 0),
                           .about_steps = trainer_about_steps(t),
                           .data_s = window->cost.data_s / steps,
                           .passes_s = window->cost.passes_s / steps,
                           .update_s = window->cost.update_s / steps };
    services_measure(t, &record);
    services_tell(t, &(LogRecord){ METRIC_TRAIN, state.steps, .train = &record });
}

/* After the last step the window does not begin again unless the line was due, so that a run that is later continued
 * with a larger train.length logs the same means as an uninterrupted one. */
static Verdict log_lines_after_step(void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    Log *log = own;
    const bool is_due = t->due & DUE_LOG;
    add_to_window(&log->window, t);
    if (is_due || t->step.last)
        write_log_lines(log, t);
    if (!is_due)
        return VERDICT_GO_ON;
    begin_window(log, t);
    every_done(&log->every);
    log->counters->window = (LossSums){ 0 };
    log->counters->window_updates = (UpdateSums){ 0 };
    log->counters->window_steps = log->counters->window_skipped = log->counters->window_nan = 0;
    return VERDICT_GO_ON;
}

const Service log_lines_service = { .open = log_lines_open,
                                    .own_counters = true,
                                    .due = log_lines_due,
                                    .at_start = log_lines_at_start,
                                    .count = log_lines_count,
                                    .after_step = log_lines_after_step };
