/* console.c: what rank 0 prints of a record, in the form that log.format names: loam's own, or that of Megatron-LM, for
 * scripts that read it. The lines of fairseq are printed by fairseq_log.c. */

#include "base/text.h"
#include "eval/task_scores.h"
#include "train/services/service.h"

#include <string.h>

#define WAIT_SHOWN 0.01 /* a log line tells of waits for data from this share of the time on */

static void say_heads(GString *line, const LossSums *sums)
{
    for (HeadId h = loss_sums_main(sums) + 1; h < HEAD_COUNT; h++)
        if (sums->head[h].weight > 0)
            g_string_append_printf(line, "  %s loss %.4f  %s accuracy %.1f %%", loss_names(h)->name,
                                   loss_sums_mean(sums, h), loss_names(h)->name, 100 * loss_sums_accuracy(sums, h));
}

static void loam_train(const TrainRecord *record)
{
    const TrainState *state = record->state;
    const LossSums *window = &state->window;
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "step %" PRId64, state->steps);
    if (record->total_steps)
        g_string_append_printf(line, "/%" PRId64, record->total_steps);
    g_autofree char *rate = text_count(record->tokens_per_s);
    if (state->window_steps)
        g_string_append_printf(line, "  loss %.4f", loss_sums_total(window));
    else
        g_string_append(line, "  no update");
    say_heads(line, window);
    g_string_append_printf(line, "  lr %.2e  grad norm %.2f  %s tokens/s  %.0f GFLOP/s", record->lr, record->grad_norm,
                           rate, record->flops_per_s / 1e9);
    const double mfu = record_mfu(record);
    if (isfinite(mfu))
        g_string_append_printf(line, "  mfu %.0f %%", 100 * mfu);
    else if (record->peak.median > 0)
        g_string_append(line, "  mfu –");
    if (record->data_wait >= WAIT_SHOWN)
        g_string_append_printf(line, "  waits for data %.0f %%", 100 * record->data_wait);
    if (record->comm_wait >= WAIT_SHOWN)
        g_string_append_printf(line, "  waits for ranks %.0f %%", 100 * record->comm_wait);
    if (record->loss_scale > 0)
        g_string_append_printf(line, "  loss scale %g", record->loss_scale);
    if (record->left_s >= 0) {
        g_autofree char *left = text_duration(round(record->left_s));
        g_string_append_printf(line, "  left %s", left);
    }
    log_info("%s", line->str);
}

static void loam_valid(const ValidRecord *record)
{
    const LossSums *sums = record->sums;
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "step %" PRId64 "  held-out loss %.4f", record->step, loss_sums_total(sums));
    if (loss_sums_main(sums) == HEAD_TOKENS)
        g_string_append_printf(line, "  perplexity %.2f", record_perplexity(sums));
    if (isfinite(record_accuracy(sums)))
        g_string_append_printf(line, "  accuracy %.1f %%", 100 * record_accuracy(sums));
    if (isfinite(record->bits_per_byte))
        g_string_append_printf(line, "  %.4f bits per byte", record->bits_per_byte);
    say_heads(line, sums);
    log_info("%s%s%s", line->str, record->name ? "  " : "", record->name ? record->name : "");
}

/* ---- the lines of Megatron-LM ---- */

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

/* Megatron-LM prints this line between two rules. */
static void megatron_valid(const ValidRecord *record)
{
    g_autofree char *line = megatron_valid_line(record), *rule = g_strnfill(strlen(line), '-');
    log_info("%s", rule);
    log_info("%s", line);
    log_info("%s", rule);
}

/* Megatron-LM prints a second line, of timers: means per step. */
static void megatron_train(const TrainRecord *record)
{
    g_autofree char *line = megatron_train_line(record);
    log_info("%s", line);
    log_info(" time (ms) | batch-generator: %.2f | forward-backward: %.2f | optimizer: %.2f", 1e3 * record->data_s,
             1e3 * record->passes_s, 1e3 * record->update_s);
}

static void print_scores(int64_t step, const ScoreRecord *record)
{
    g_autoptr(GString) shown = g_string_new(NULL);
    for (guint i = 0; i < record->scores->len; i++) {
        const Metric *metric = &g_array_index(record->scores, Metric, i);
        g_autofree char *value = text_fixed(metric->value, 2);
        if (metric_is_main(metric->name))
            g_string_append_printf(shown, "  %s %s", metric->name, value);
    }
    log_info("step %" PRId64 "%s%s%s", step, shown->str, record->name ? "  " : "", record->name ? record->name : "");
}

/* Its own: log.format. */
static void *console_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    const int format = trainer_had_ended(t) ? LOG_LOAM : t->config.log.format;
    return comm_rank(t->mesh.world) > 0 ? NULL : g_memdup2(&format, sizeof format);
}

static void console_told(void *own, const LogRecord *record)
{
    const int format = *(const int *)own;
    if (record->kind == METRIC_TRAIN && format == LOG_LOAM)
        loam_train(record->train);
    else if (record->kind == METRIC_TRAIN && format == LOG_MEGATRON)
        megatron_train(record->train);
    else if (record->kind == METRIC_VALID && format == LOG_LOAM)
        loam_valid(record->valid);
    else if (record->kind == METRIC_VALID && format == LOG_MEGATRON)
        megatron_valid(record->valid);
    else if (record->kind == METRIC_SCORE)
        print_scores(record->step, &record->scores);
    else if (record->kind == METRIC_SAVE && !record->save.problem)
        log_info("step %" PRId64 "  saved %s (%.1fs)", record->step, record->save.folder, record->save.seconds);
}

const Service console_service = { .open = console_open, .told = console_told };
