#include "train/services/services.h"

#include <inttypes.h>

#define MOST_NATS 20 /* Megatron-LM's perplexity is exp(min(20, loss)) */

char *megatron_train_line(const TrainRecord *record)
{
    const TrainState *state = record->state;
    GString *line = g_string_new(NULL);
    g_autofree char *now = record_now();
    g_string_append_printf(line, " [%s] iteration %8" PRId64 "/%8" PRId64 " | consumed samples: %12" PRId64, now,
                           state->steps, record->about_steps, state->samples);
    g_string_append_printf(line, " | elapsed time per iteration (ms): %.1f | learning rate: %.3E", 1e3 * record->step_s,
                           record->lr);
    g_string_append_printf(line, " | global batch size: %5" PRId64, record->batch);
    if (state->window_steps)
        g_string_append_printf(line, " | lm loss: %.6E", loss_sums_total(&state->window));
    g_string_append_printf(line, " | loss scale: %.1f", record->loss_scale > 0 ? record->loss_scale : 1);
    if (isfinite(record->grad_norm))
        g_string_append_printf(line, " | grad norm: %.3f", record->grad_norm);
    if (record->norms)
        g_string_append_printf(line, " | num zeros: %.1f | params norm: %.3f", record->norms->model.zeros,
                               record->norms->model.param);
    g_string_append_printf(line,
                           " | number of skipped iterations: %3" PRId64 " | number of nan iterations: %3" PRId64 " |",
                           state->window_skipped, state->window_nan);
    g_string_append_printf(line, " samples per second: %.3f | throughput per GPU (TFLOP/s/GPU): %.3f |",
                           record->samples_per_s, record->flops_per_s / MAX(record->ranks, 1) / 1e12);
    return g_string_free(line, false);
}

char *megatron_timers_line(const TrainRecord *record)
{
    return g_strdup_printf(" time (ms) | batch-generator: %.2f | forward-backward: %.2f | optimizer: %.2f",
                           1e3 * record->data_s, 1e3 * record->passes_s, 1e3 * record->update_s);
}

double megatron_perplexity(double loss)
{
    return exp(fmin(MOST_NATS, loss));
}

char *megatron_valid_line(const ValidRecord *record)
{
    const double loss = loss_sums_total(record->sums);
    g_autofree char *on = record->name ? g_strdup_printf(" on %s", record->name) : g_strdup("");
    return g_strdup_printf(" validation loss at iteration %" PRId64 "%s | lm loss value: %.6E | lm loss PPL: %.6E | ",
                           record->step, on, loss, megatron_perplexity(loss));
}
