#include "train/services/megatron_series.h"

#include "train/services/megatron_log.h"

#include <math.h>

/* The x coordinates of a record's values: iteration, and samples read. */
typedef struct Place {
    IoFile *events;
    int64_t iteration, samples;
} Place;

static bool put_point(const Place *place, const char *name, double value, GError **error)
{
    g_autofree char *by_samples = g_strconcat(name, EVENTS_BY_SAMPLES, NULL);
    return !isfinite(value) || (events_scalar(place->events, name, place->iteration, value, error) &&
                                events_scalar(place->events, by_samples, place->samples, value, error));
}

static bool put_timers(IoFile *events, const TrainRecord *record, GError **error)
{
    const struct {
        const char *name;
        double seconds;
    } timers[] = { { "batch-generator-time", record->data_s },
                   { "forward-backward-time", record->passes_s },
                   { "optimizer-time", record->update_s } };
    for (size_t i = 0; i < G_N_ELEMENTS(timers); i++)
        if (!events_scalar(events, timers[i].name, record->state->steps, timers[i].seconds, error))
            return false;
    return true;
}

bool megatron_series_train(IoFile *events, const TrainRecord *record, GError **error)
{
    const TrainState *state = record->state;
    const Place place = { events, state->steps, state->samples };
    const struct {
        const char *name;
        double value;
    } series[] = { { "learning-rate", record->lr },
                   { "batch-size", (double)record->batch },
                   { "lm loss", state->window_steps ? loss_sums_total(&state->window) : (double)NAN },
                   { "loss-scale", record->loss_scale > 0 ? record->loss_scale : 1 },
                   { "grad-norm", record->grad_norm },
                   { "num-zeros", record->norms ? record->norms->model.zeros : (double)NAN },
                   { "params-norm", record->norms ? record->norms->model.param : (double)NAN },
                   { "iteration-time", record->step_s } };
    for (size_t i = 0; i < G_N_ELEMENTS(series); i++)
        if (!put_point(&place, series[i].name, series[i].value, error))
            return false;
    return put_timers(events, record, error);
}

bool megatron_series_valid(IoFile *events, const ValidRecord *record, GError **error)
{
    const Place place = { events, record->step, record->train_samples };
    const double loss = loss_sums_total(record->sums);
    g_autofree char *name = record->name ? g_strdup_printf("lm-loss-validation/%s/lm loss validation", record->name)
                                         : g_strdup("lm loss validation"),
                    *perplexity = g_strconcat(name, " ppl", NULL);
    return put_point(&place, name, loss, error) && put_point(&place, perplexity, megatron_perplexity(loss), error);
}
