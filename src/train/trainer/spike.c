#include "train/trainer/spike.h"

#include "base/file.h"
#include "base/log.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* Smallest standard deviation, as a share of the mean, so that tiny changes of an almost constant loss are no spikes.
 */
#define LEAST_DEVIATION 1e-3

static double highest(const TrainState *state, const TrainConfig *train)
{
    const double deviation = fmax(sqrt(state->spike_variance), LEAST_DEVIATION * fabs(state->spike_mean));
    return state->spike_mean + train->spike * deviation;
}

bool spike_is(const TrainState *state, const TrainConfig *train, double loss)
{
    return train->spike > 0 && state->spike_losses >= train->spike_window && loss > highest(state, train);
}

/* Exponential moving averages with a weight of 2 / (train.spike_window + 1) for the new loss; for the first losses,
 * plain averages. */
void spike_count(TrainState *state, const TrainConfig *train, double loss)
{
    if (train->spike == 0 || !isfinite(loss))
        return;
    if (spike_is(state, train, loss))
        loss = highest(state, train);
    state->spike_losses++;
    const double share = fmax(1 / (double)state->spike_losses, 2 / ((double)train->spike_window + 1)),
                 more = loss - state->spike_mean;
    state->spike_mean += share * more;
    state->spike_variance = (1 - share) * (state->spike_variance + share * more * more);
}

void spike_report(const char *dir, const TrainState *state, int64_t step, int64_t first, int64_t samples, double loss)
{
    g_autoptr(GError) problem = NULL;
    g_autofree char *folder = g_build_filename(dir, "spikes", NULL),
                    *name = g_strdup_printf("step-%08" PRId64 ".json", step),
                    *path = g_build_filename(folder, name, NULL);
    json_auto_t *object = json_pack("{s:I, s:I, s:I, s:f, s:f, s:f}", "step", (json_int_t)step, "first_sample",
                                    (json_int_t)first, "samples", (json_int_t)samples, "loss", loss, "mean",
                                    state->spike_mean, "deviation", sqrt(state->spike_variance));
    char *text = json_dumps(object, 0);
    if (text && io_make_directories(folder, &problem))
        io_write_file(path, text, strlen(text), &problem);
    free(text);
    if (problem)
        log_warning("%s", problem->message);
}
