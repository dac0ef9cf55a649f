#include "train/spike.h"

#include "base/file.h"
#include "base/log.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* Smallest standard deviation, as a share of the mean, so that tiny changes of an almost constant loss are no spikes.
 */
#define LEAST_DEVIATION 1e-3

SpikeLevel spike_level(const TrainState *state)
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

void spike_report(const char *dir, SpikeLevel before, int64_t step, int64_t first, int64_t samples, double loss)
{
    g_autoptr(GError) problem = NULL;
    g_autofree char *folder = g_build_filename(dir, "spikes", NULL),
                    *name = g_strdup_printf("step-%08" PRId64 ".json", step),
                    *path = g_build_filename(folder, name, NULL);
    json_auto_t *object =
        json_pack("{s:I, s:I, s:I, s:f, s:f, s:f}", "step", (json_int_t)step, "first_sample", (json_int_t)first,
                  "samples", (json_int_t)samples, "loss", loss, "mean", before.mean, "deviation", before.deviation);
    char *text = json_dumps(object, 0);
    if (text && io_make_directories(folder, &problem))
        io_write_file(path, text, strlen(text), &problem);
    free(text);
    if (problem)
        log_warning("%s", problem->message);
}
