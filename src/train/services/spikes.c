/* spikes.c: loss spikes (train.spike): finds them before the update, logs them with their samples, keeps the
 * checkpoints before and after them, and leaves out their updates if train.spike_action=skip. */
#include "base/file.h"
#include "base/text.h"
#include "train/services/service.h"

#include <string.h>

/* Least standard deviation, as a share of the mean, so that tiny changes of an almost constant loss are no spikes. */
#define LEAST_DEVIATION 1e-3

static SpikeLevel spike_level(const TrainState *state)
{
    const double n = (double)state->spike_losses;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < state->spike_losses; i++)
        sum += state->spike_recent[i];
    for (int64_t i = 0; i < state->spike_losses; i++)
        squares += pow(state->spike_recent[i] - sum / n, 2);
    return n > 0 ? (SpikeLevel){ sum / n, sqrt(squares / n) } : (SpikeLevel){ 0, 0 };
}

/* A run of an earlier version of loam may have a longer window. */
static int64_t window_of(const TrainConfig *train)
{
    return MIN(train->spike_window, CHECKPOINT_RECENT_LOSSES);
}

/* The largest loss that is no spike; infinite before there are train.spike_window losses. */
static double highest(const TrainState *state, const TrainConfig *train)
{
    const SpikeLevel level = spike_level(state);
    if (train->spike == 0 || state->spike_losses < window_of(train))
        return INFINITY;
    return level.mean + train->spike * fmax(level.deviation, LEAST_DEVIATION * fabs(level.mean));
}

bool spike_is(const TrainState *state, const TrainConfig *train, double loss)
{
    return loss > highest(state, train);
}

void spike_count(TrainState *state, const TrainConfig *train, double loss)
{
    if (train->spike == 0 || !isfinite(loss))
        return;
    loss = fmin(loss, highest(state, train));
    const int64_t kept = MIN(state->spike_losses, window_of(train) - 1);
    memmove(state->spike_recent, state->spike_recent + (state->spike_losses - kept), (size_t)kept * sizeof(double));
    state->spike_recent[kept] = loss;
    state->spike_losses = kept + 1;
}

/* The step of a file step-00001234.json; -1 means another file. */
static int64_t spike_file_step(const char *name)
{
    char *end = NULL;
    const char *digits = g_str_has_prefix(name, "step-") ? name + strlen("step-") : "";
    const int64_t step = g_ascii_isdigit(*digits) ? g_ascii_strtoll(digits, &end, 10) : -1;
    return step >= 0 && strcmp(end, ".json") == 0 ? step : -1;
}

bool spike_cut(const char *dir, int64_t last, GError **error)
{
    g_autofree char *folder = g_build_filename(dir, "spikes", NULL);
    g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
    const char *name;
    while (entries && (name = g_dir_read_name(entries))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (spike_file_step(name) > last && !io_remove_file(path, error))
            return false;
    }
    return true;
}

/* Writes RUN/spikes/step-XXXXXXXX.json: step, samples, loss, level of losses before. A failure is only logged. */
static void spike_report(const char *dir, SpikeLevel before, int64_t step, int64_t first, int64_t samples, double loss)
{
    g_autoptr(GError) problem = NULL;
    g_autofree char *folder = g_build_filename(dir, "spikes", NULL),
                    *name = g_strdup_printf("step-%08" PRId64 ".json", step),
                    *path = g_build_filename(folder, name, NULL);
    json_auto_t *object =
        json_pack("{s:I, s:I, s:I, s:f, s:f, s:f}", "step", (json_int_t)step, "first_sample", (json_int_t)first,
                  "samples", (json_int_t)samples, "loss", loss, "mean", before.mean, "deviation", before.deviation);
    g_autofree char *text = json_dumps(object, 0);
    if (text && io_make_directories(folder, &problem))
        io_write_file(path, text, strlen(text), &problem);
    if (problem)
        log_warning("%s", problem->message);
}

/* ---- the service ---- */

/* Its own: TrainState.steps of a step that was a spike, given up for a save, and is to be repeated; -1 means none. */
static void *spikes_open(G_GNUC_UNUSED const Trainer *t, G_GNUC_UNUSED GError **error)
{
    return g_memdup2(&(int64_t){ -1 }, sizeof(int64_t));
}

/* The checkpoint after the last spike. */
static unsigned spikes_due(G_GNUC_UNUSED void *own, const Trainer *t, const EveryCounts *counts)
{
    const int64_t spike = t->state.spike_step;
    return spike > 0 && t->config.train.spike_action != SPIKE_REPORT &&
                   counts->steps == spike + t->config.train.spike_after
               ? DUE_SAVE
               : 0;
}

/* If the checkpoint before a spike is not saved yet, step->again ends the step before anything has changed. */
static void spikes_before_update(void *own, const Trainer *t, StepRecord *step)
{
    const int64_t saved = *(const int64_t *)own;
    const int action = t->config.train.spike_action;
    step->loss = loss_sums_total(&step->sums);
    step->before = spike_level(&t->state);
    step->spike = step->updated && spike_is(&t->state, &t->config.train, step->loss);
    step->again = step->spike && action != SPIKE_REPORT && saved != t->state.steps;
    step->updated = step->updated && !(step->spike && action == SPIKE_SKIP);
}

static void spikes_count(TrainState *state, const Trainer *t)
{
    state->spike_step = t->step.spike ? state->steps : state->spike_step;
    spike_count(state, &t->config.train, t->step.loss);
}

static void note_spike(const Trainer *t)
{
    const StepRecord *spike = &t->step;
    const char *dir = t->config.run.dir;
    g_autofree char *run = text_shell_word(dir);
    const int64_t step = t->state.steps + spike->again,
                  first = spike->again ? t->state.samples : t->state.samples - t->batch.samples;
    g_autofree char *what =
        g_strdup_printf("loss %.4f is a spike above the mean %.4f; its samples are %" PRId64 " to %" PRId64
                        "%s (loam inspect batch %s --first %" PRId64 ")",
                        spike->loss, spike->before.mean, first, first + t->batch.samples - 1,
                        t->config.train.spike_action == SPIKE_SKIP ? ", and it is skipped" : "", run, first);
    log_warning("step %" PRId64 "  %s", step, what);
    services_tell(t, &(LogRecord){ METRIC_EVENT, step, .event = { .what = what, .alert = true } });
    if (comm_rank(t->mesh.world) == 0)
        spike_report(dir, spike->before, step, first, t->batch.samples, spike->loss);
}

static Verdict spikes_after_step(void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    if (t->step.again || (t->step.spike && t->config.train.spike_action == SPIKE_REPORT))
        note_spike(t);
    if (!t->step.again)
        return VERDICT_GO_ON;
    *(int64_t *)own = t->state.steps;
    return VERDICT_REPEAT;
}

static void spikes_keep(void *own, const Trainer *t, KeptSteps *kept)
{
    const int64_t spike = t->state.spike_step;
    service_keep(kept, *(const int64_t *)own);
    if (spike > 0) {
        service_keep(kept, spike - 1);
        service_keep(kept, spike + t->config.train.spike_after);
    }
}

const Service spikes_service = { .written = "spikes",
                                 .open = spikes_open,
                                 .due = spikes_due,
                                 .before_update = spikes_before_update,
                                 .count = spikes_count,
                                 .after_step = spikes_after_step,
                                 .keep = spikes_keep };
