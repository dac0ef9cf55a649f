#include "train/services/records.h"

#include "base/file.h"
#include "base/log.h"
#include "eval/task_scores.h"

#include <unistd.h>

double record_accuracy(const LossSums *sums)
{
    const HeadId main = loss_sums_main(sums);
    return loss_names(main)->accuracy ? loss_sums_accuracy(sums, main) : (double)NAN;
}

double record_perplexity(const LossSums *sums)
{
    return exp(loss_sums_mean(sums, HEAD_TOKENS));
}

double record_mfu(const TrainRecord *record)
{
    const double mfu = record->peak.median > 0 ? record->flops_per_s / record->peak.median : (double)NAN;
    return mfu <= 1 ? mfu : (double)NAN;
}

char *record_now(void)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    return g_date_time_format(now, "%Y-%m-%d %H:%M:%S");
}

/* ---- fields ---- */

static void add_field(Fields *fields, const char *group, const char *name, double value)
{
    const Field field = { name, group, value, false };
    g_array_append_val(fields->list, field);
}

static void add_whole(Fields *fields, const char *name, int64_t value)
{
    const Field field = { name, NULL, (double)value, true };
    g_array_append_val(fields->list, field);
}

/* Adds the mean loss of each head (if several heads have a loss, "loss" is their sum), and the accuracy of each head
 * except the language-model head, whose accuracy is called "accuracy". */
static void add_heads(Fields *fields, const char *group, const LossSums *sums)
{
    for (HeadId h = 0; h < HEAD_COUNT && loss_sums_heads(sums) > 1; h++) {
        const HeadNames *names = loss_names(h);
        if (sums->head[h].weight == 0)
            continue;
        add_field(fields, group, names->loss, loss_sums_mean(sums, h));
        if (h != HEAD_TOKENS && names->accuracy)
            add_field(fields, group, names->accuracy, loss_sums_accuracy(sums, h));
    }
}

static void add_losses(Fields *fields, const LossSums *window)
{
    const HeadId main = loss_sums_main(window);
    const HeadSums *rows = &window->head[main];
    add_field(fields, "train", "loss", loss_sums_total(window));
    add_field(fields, "train", "nll", loss_names(main)->accuracy ? rows->nll / rows->weight : (double)NAN);
    add_field(fields, "train", "accuracy", record_accuracy(window));
}

static void add_speed(Fields *fields, const TrainRecord *record)
{
    const PeakRate *peak = &record->peak;
    const double median = peak->median > 0 ? peak->median : NAN;
    add_field(fields, "perf", "tokens_per_s", record->tokens_per_s);
    add_field(fields, "perf", "step_s", record->step_s);
    add_field(fields, "perf", "flops_per_s", record->flops_per_s);
    add_field(fields, "perf", "mfu", record_mfu(record));
    add_field(fields, "perf", "peak_flops_per_s", median);
    add_field(fields, "perf", "peak_spread", (peak->high - peak->low) / median);
    add_field(fields, "perf", "data_wait", record->data_wait);
    add_field(fields, "perf", "fill", record->fill);
    add_field(fields, "perf", "memory", record->memory > 0 ? record->memory : (double)NAN);
}

static void add_train(Fields *fields, const TrainRecord *record)
{
    const TrainState *state = record->state;
    add_whole(fields, "updates", state->updates);
    add_whole(fields, "samples", state->samples);
    add_whole(fields, "tokens", state->tokens);
    add_whole(fields, "target_tokens", state->target_tokens);
    add_losses(fields, &state->window);
    add_field(fields, "train", "lr", record->lr);
    add_field(fields, "train", "grad_norm", record->grad_norm);
    add_speed(fields, record);
    if (state->skipped_samples > 0)
        add_whole(fields, "skipped_samples", state->skipped_samples);
    if (record->loss_scale > 0)
        add_field(fields, "train", "loss_scale", record->loss_scale);
    if (record->sent_bytes > 0) {
        add_field(fields, "perf", "comm_wait", record->comm_wait);
        add_field(fields, "perf", "sent_bytes", record->sent_bytes);
    }
    if (record->straggler) {
        add_field(fields, "perf", "slowest_rank", record->straggler->rank);
        add_field(fields, "perf", "slowest_factor", record->straggler->factor);
    }
    add_heads(fields, "train", &state->window);
    if (record->norms) {
        add_field(fields, "train", "param_norm", record->norms->model.param);
        add_field(fields, "train", "zero_gradients", record->norms->model.zeros);
    }
}

static void add_valid(Fields *fields, const ValidRecord *record)
{
    const LossSums *sums = record->sums;
    fields->group = record->name ? g_strdup_printf("valid/%s", record->name) : g_strdup("valid");
    add_whole(fields, "target_tokens", (int64_t)sums->head[loss_sums_main(sums)].weight);
    add_field(fields, fields->group, "loss", loss_sums_total(sums));
    add_field(fields, fields->group, "perplexity", record_perplexity(sums));
    add_field(fields, fields->group, "accuracy", record_accuracy(sums));
    add_field(fields, fields->group, "bits_per_byte", record->bits_per_byte);
    add_heads(fields, fields->group, sums);
    add_field(fields, NULL, "seconds", record->seconds);
}

static void add_scores(Fields *fields, const ScoreRecord *record)
{
    fields->group = record->name ? g_strdup_printf("score/%s", record->name) : g_strdup("score");
    add_whole(fields, "examples", record->examples);
    for (guint i = 0; i < record->scores->len; i++) {
        const Metric *metric = &g_array_index(record->scores, Metric, i);
        add_field(fields, fields->group, metric->name, metric->value);
    }
    add_field(fields, NULL, "seconds", record->seconds);
}

Fields fields_of(const LogRecord *record)
{
    Fields fields = { .list = g_array_new(false, false, sizeof(Field)) };
    if (record->kind == METRIC_TRAIN)
        add_train(&fields, record->train);
    if (record->kind == METRIC_VALID)
        add_valid(&fields, record->valid);
    if (record->kind == METRIC_SCORE)
        add_scores(&fields, &record->scores);
    return fields;
}

void fields_clear(Fields *fields)
{
    g_array_unref(fields->list);
    g_free(fields->group);
}

void sink_note(Sink *sink, GError *problem)
{
    if (problem && !sink->failing)
        log_warning("%s: %s; what cannot be written is left out", sink->name, problem->message);
    if (!problem && sink->failing)
        log_warning("%s is written again; the lines that were left out are missing", sink->name);
    sink->failing = problem != NULL;
    g_clear_error(&problem);
}

/* ---- the lines that a resumed run keeps ---- */

/* The lines of a log that are kept. */
typedef struct KeptLines {
    off_t prefix;    /* number of bytes before the first line that is removed */
    bool later;      /* whether a line after the prefix is kept, so that cutting the file back does not do */
    int64_t damaged; /* number of lines without a step, not counting an incomplete last one */
} KeptLines;

/* Reads the lines of a file, one at a time, and appends those up to step `last` to `out`; out NULL means nowhere. */
static bool keep_lines(KeptLines *kept, FILE *file, int64_t last, LogStepFn step_of, void *context, IoFile *out,
                       GError **error)
{
    g_autofree char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    bool whole = true, written = true;
    *kept = (KeptLines){ 0 };
    while (written && (n = getline(&line, &capacity, file)) > 0 && line[n - 1] == '\n') {
        const int64_t step = step_of(line, (size_t)n, context);
        kept->damaged += step < 0;
        whole = whole && step >= 0 && step <= last;
        kept->prefix += whole ? (off_t)n : 0;
        if (step < 0 || step > last)
            continue;
        kept->later |= !whole;
        written = out == NULL || io_write(out, line, (size_t)n, error);
    }
    return written;
}

/* Replaces the file at `path`, which is open as `file`, by its kept lines. */
static bool rewrite_lines(const char *path, FILE *file, int64_t last, LogStepFn step_of, void *context, GError **error)
{
    KeptLines kept;
    g_autofree char *target = io_follow_links(path);
    IoFile *out = io_create_beside(target, error);
    if (out == NULL)
        return false;
    rewind(file);
    bool done = keep_lines(&kept, file, last, step_of, context, out, error);
    if (done && ferror(file))
        done = fail_machine(error, "reading %s failed", path);
    if (done)
        return io_publish(out, target, error);
    io_discard(out);
    return false;
}

bool log_cut(const char *path, int64_t last, LogStepFn step_of, void *context, int64_t *damaged, GError **error)
{
    FILE *file;
    KeptLines kept = { 0 };
    bool cut = metric_lines_open(&file, path, error);
    if (file) {
        keep_lines(&kept, file, last, step_of, context, NULL, NULL);
        if (ferror(file))
            cut = fail_machine(error, "reading %s failed", path);
        else
            cut = kept.later ? rewrite_lines(path, file, last, step_of, context, error)
                             : truncate(path, kept.prefix) == 0 || fail_errno(error, "cutting back", path);
        fclose(file);
    }
    *damaged = kept.damaged;
    return cut;
}
