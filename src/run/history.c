#include "run/history.h"

#include "base/error.h"
#include "run/metric_lines.h"

#include <inttypes.h>
#include <math.h>

static void add_point(GArray *points, double step, double tokens, double loss)
{
    const HistoryPoint point = { .step = (int64_t)step, .tokens = tokens, .loss = loss };
    if (points->len == 0 || g_array_index(points, HistoryPoint, points->len - 1).step < point.step)
        g_array_append_val(points, point);
}

static void take_history_record(History *history, const MetricRecord *record)
{
    const double step = metric_number(record->json, "step"), loss = metric_number(record->json, "loss"),
                 tokens = metric_number(record->json, "tokens");
    if (!(step >= 0 && step <= 1e15) || !isfinite(loss))
        return;
    if (record->kind == METRIC_TRAIN && isfinite(tokens))
        add_point(history->train, step, tokens, loss);
    else if (record->kind == METRIC_VALID && record->first_set)
        add_point(history->valid, step, NAN, loss);
}

double history_x(const HistoryPoint *point, bool by_tokens)
{
    return by_tokens ? point->tokens : (double)point->step;
}

double history_loss_at(const GArray *points, bool by_tokens, double x)
{
    for (guint i = 0; i < points->len; i++) {
        const HistoryPoint *point = &g_array_index(points, HistoryPoint, i);
        double here = history_x(point, by_tokens);
        if (here == x)
            return point->loss;
        if (here < x)
            continue;
        if (i == 0)
            return NAN;
        double before = history_x(point - 1, by_tokens), share = (x - before) / (here - before);
        return point[-1].loss + share * (point->loss - point[-1].loss);
    }
    return NAN;
}

/* Input tokens read up to a step: interpolated linearly between the log records before and after it (the start of the
 * run counts as a record with 0 tokens), extrapolated after the last record. NAN if no training step is logged. */
static double tokens_at_step(const GArray *train, int64_t step)
{
    HistoryPoint before = { 0 }, after = { .tokens = step == 0 ? 0 : NAN };
    for (guint i = 0; i < train->len && after.step < step; i++) {
        before = after.step > 0 ? after : before;
        after = g_array_index(train, HistoryPoint, i);
    }
    double a_step = (after.tokens - before.tokens) / (double)MAX(after.step - before.step, 1);
    return after.tokens + a_step * (double)(step - after.step);
}

/* Sets the token counts of held-out points, which their records lack, from the training records. */
static void set_valid_tokens(History *history)
{
    for (guint i = 0; i < history->valid->len; i++) {
        HistoryPoint *point = &g_array_index(history->valid, HistoryPoint, i);
        point->tokens = tokens_at_step(history->train, point->step);
    }
}

bool history_read(History *history, const char *dir, GError **error)
{
    *history = (History){ .train = g_array_new(FALSE, FALSE, sizeof(HistoryPoint)),
                          .valid = g_array_new(FALSE, FALSE, sizeof(HistoryPoint)) };
    MetricReader reader;
    if (!metric_reader_open(&reader, dir, error))
        return false;
    while (metric_reader_next(&reader))
        take_history_record(history, &reader.record);
    history->skipped = reader.skipped;
    const bool read = metric_reader_close(&reader, error);
    set_valid_tokens(history);
    if (!read || history->train->len > 0 || history->valid->len > 0)
        return read;
    if (history->skipped > 0)
        return fail_user(error, "%s/metrics.jsonl holds no loss: %" PRId64 " of its lines are no JSON objects", dir,
                         history->skipped);
    return fail_user(error, "%s/metrics.jsonl holds no loss yet", dir);
}

void history_clear(History *history)
{
    g_clear_pointer(&history->train, g_array_unref);
    g_clear_pointer(&history->valid, g_array_unref);
}
