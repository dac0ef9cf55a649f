#include "train/trainer/metrics/metrics.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "format/events.h"
#include "train/metric_lines.h"
#include "train/trainer/metrics/console.h"
#include "train/trainer/metrics/fairseq_log.h"
#include "train/trainer/metrics/megatron_series.h"
#include "train/trainer/metrics/mlflow.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES_BYTES 32768 /* of a text in metrics.jsonl */

/* An output file. If writing fails, as on a full disk, training goes on; the log says when writing starts to fail and
 * when it works again. */
typedef struct Sink {
    const char *name;
    bool failing;
} Sink;

struct Metrics {
    IoFile *file, *events;
    Mlflow *mlflow;      /* NULL without log.mlflow */
    FairseqLog *fairseq; /* NULL without metrics_add_fairseq */
    MlflowStatus ends;
    Sink lines, series, store;
    double wall_before; /* seconds that earlier processes of this run trained */
    double opened;      /* clock_seconds() when metrics_open was called */
    LogConfig config;
};

/* The "step" of a line of metrics.jsonl, or -1 if the line is not valid. *wall becomes its "wall_s" if that is larger.
 */
static int64_t read_line(const char *line, size_t bytes, double *wall)
{
    json_t *object = metric_record(line, bytes);
    json_t *step = json_object_get(object, "step");
    int64_t value = json_is_integer(step) ? json_integer_value(step) : -1;
    *wall = MAX(*wall, json_number_value(json_object_get(object, "wall_s")));
    json_decref(object);
    return value;
}

/* The lines of metrics.jsonl that a resumed run keeps. */
typedef struct KeptLines {
    off_t prefix;    /* number of bytes before the first line that is removed */
    bool later;      /* whether a line after the prefix is kept, so that cutting the file back does not do */
    int64_t damaged; /* number of invalid lines, not counting an incomplete last one */
    double wall;     /* "wall_s" of the last line that is kept */
} KeptLines;

/* Reads the lines of a file, one at a time, and appends those up to step `last` to `out`; out NULL means nowhere. */
static bool keep_lines(KeptLines *kept, FILE *file, int64_t last, IoFile *out, GError **error)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    bool whole = true, written = true;
    *kept = (KeptLines){ 0 };
    while (written && (n = getline(&line, &capacity, file)) > 0 && line[n - 1] == '\n') {
        double wall = kept->wall;
        int64_t step = read_line(line, (size_t)n, &wall);
        kept->damaged += step < 0;
        whole = whole && step >= 0 && step <= last;
        kept->prefix += whole ? (off_t)n : 0;
        if (step < 0 || step > last)
            continue;
        kept->later |= !whole;
        kept->wall = wall;
        written = out == NULL || io_write(out, line, (size_t)n, error);
    }
    free(line);
    return written;
}

/* Replaces the file at `path`, which is open as `file`, by its kept lines. */
static bool rewrite_lines(const char *path, FILE *file, int64_t last, GError **error)
{
    KeptLines kept;
    g_autofree char *target = io_follow_links(path);
    IoFile *out = io_create_beside(target, error);
    if (out == NULL)
        return false;
    rewind(file);
    bool done = keep_lines(&kept, file, last, out, error);
    if (done && ferror(file))
        done = fail_machine(error, "reading %s failed", path);
    if (done)
        return io_publish(out, target, error);
    io_discard(out);
    return false;
}

static bool cut_open_lines(const char *path, FILE *file, int64_t last, double *wall, GError **error)
{
    KeptLines kept;
    keep_lines(&kept, file, last, NULL, NULL);
    *wall = kept.wall;
    if (ferror(file))
        return fail_machine(error, "reading %s failed", path);
    if (kept.damaged)
        log_warning("%s: %" PRId64 " of its lines cannot be read and are removed", path, kept.damaged);
    if (kept.later)
        return rewrite_lines(path, file, last, error);
    return truncate(path, kept.prefix) == 0 || fail_errno(error, "cutting back", path);
}

static bool cut_lines(const char *path, int64_t last, double *wall, GError **error)
{
    FILE *file;
    if (!metric_lines_open(&file, path, error))
        return false;
    if (file == NULL)
        return true;
    bool cut = cut_open_lines(path, file, last, wall, error);
    fclose(file);
    return cut;
}

/* A store that cannot be written does not keep the run from training. */
static void open_store(Metrics *metrics, const char *dir, int64_t step)
{
    g_autoptr(GError) problem = NULL;
    const LogConfig *config = &metrics->config;
    if (!config->mlflow || !*config->mlflow)
        return;
    metrics->mlflow = mlflow_open(config->mlflow, config->mlflow_experiment, dir, step, &problem);
    if (problem)
        log_warning("log.mlflow: %s; the run goes on, and writes nothing there until its next start", problem->message);
}

Metrics *metrics_open(const char *dir, RunPoint at, const LogConfig *config, GError **error)
{
    g_autofree char *path = g_build_filename(dir, "metrics.jsonl", NULL), *tb = g_build_filename(dir, "tb", NULL);
    double wall = 0;
    if (!cut_lines(path, at.step, &wall, error) || !io_make_directories(tb, error) ||
        !events_cut(tb, at.step, at.samples, error))
        return NULL;
    Metrics *metrics = g_new(Metrics, 1);
    *metrics = (Metrics){ .lines = { "metrics.jsonl", false },
                          .series = { "tb/", false },
                          .store = { "log.mlflow", false },
                          .ends = MLFLOW_FINISHED,
                          .wall_before = wall,
                          .opened = clock_seconds(),
                          .config = config ? *config : (LogConfig){ 0 } };
    if ((metrics->file = io_append(path, error)) && (metrics->events = events_open(tb, error))) {
        open_store(metrics, dir, at.step);
        return metrics;
    }
    metrics_close(metrics);
    return NULL;
}

void metrics_add_fairseq(Metrics *metrics, const char *dir, int64_t updates, bool filed)
{
    g_autoptr(GError) problem = NULL;
    const bool printed = metrics->config.format == LOG_FAIRSEQ;
    if (filed)
        metrics->fairseq = fairseq_log_open(dir, updates, printed, &problem);
    if (problem)
        log_warning("train.fairseq_log: %s; the run goes on without this file", problem->message);
    if (printed && metrics->fairseq == NULL)
        metrics->fairseq = fairseq_log_open(NULL, updates, true, NULL);
}

void metrics_end(Metrics *metrics, const GError *problem)
{
    if (metrics && problem)
        metrics->ends = g_error_matches(problem, LOAM_ERROR, LOAM_ERROR_STOPPED) ? MLFLOW_KILLED : MLFLOW_FAILED;
}

void metrics_close(Metrics *metrics)
{
    if (metrics == NULL)
        return;
    mlflow_close(metrics->mlflow, metrics->ends);
    fairseq_log_close(metrics->fairseq);
    if (metrics->events)
        events_close(metrics->events);
    if (metrics->file)
        io_close(metrics->file, true, NULL);
    g_free(metrics);
}

/* Logs when writing starts to fail or works again. problem (freed here): the error of the last write; NULL means that
 * it succeeded. */
static void note_problem(Sink *sink, GError *problem)
{
    if (problem && !sink->failing)
        log_warning("%s: %s; what cannot be written is left out", sink->name, problem->message);
    if (!problem && sink->failing)
        log_warning("%s is written again; the lines that were left out are missing", sink->name);
    sink->failing = problem != NULL;
    g_clear_error(&problem);
}

static void write_line(Metrics *metrics, json_t *object)
{
    GError *problem = NULL;
    g_autoptr(GString) line = g_string_new(NULL);
    double here = clock_seconds() - metrics->opened;
    json_object_set_new(object, "time", json_integer(g_get_real_time() / G_USEC_PER_SEC));
    json_object_set_new(object, "wall_s", json_real(metrics->wall_before + here));
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    g_string_append_printf(line, "%s\n", text);
    free(text);
    json_decref(object);
    if (io_write(metrics->file, line->str, line->len, &problem))
        io_flush(metrics->file, &problem);
    note_problem(&metrics->lines, problem);
}

typedef struct Scalar {
    const char *name, *group; /* "loss" in metrics.jsonl, "train/loss" in TensorBoard */
    double value;
} Scalar;

static void add_scalars(Metrics *metrics, json_t *line, const Scalar *scalars, size_t n, int64_t step)
{
    GError *problem = NULL, *store_problem = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(scalars[i].value)) { /* JSON has no NaN */
            json_object_set_new(line, scalars[i].name, json_null());
            continue;
        }
        json_object_set_new(line, scalars[i].name, json_real(scalars[i].value));
        g_autofree char *tag = g_strdup_printf("%s/%s", scalars[i].group, scalars[i].name);
        if (problem == NULL)
            events_scalar(metrics->events, tag, step, scalars[i].value, &problem);
        if (store_problem == NULL)
            mlflow_metric(metrics->mlflow, tag, step, scalars[i].value, &store_problem);
    }
    note_problem(&metrics->store, store_problem);
    if (problem == NULL)
        io_flush(metrics->events, &problem);
    note_problem(&metrics->series, problem);
}

/* Adds the mean loss of each head (if several heads have a loss, "loss" is their sum), and the accuracy of each head
 * except the language-model head, whose accuracy is called "accuracy". */
static void add_heads(Metrics *metrics, json_t *line, const char *group, const LossSums *sums, int64_t step)
{
    Scalar scalars[2 * HEAD_COUNT];
    size_t n = 0;
    for (HeadId h = 0; h < HEAD_COUNT; h++) {
        const HeadNames *names = loss_names(h);
        if (sums->head[h].weight == 0)
            continue;
        scalars[n++] = (Scalar){ names->loss, group, loss_sums_mean(sums, h) };
        if (h != HEAD_TOKENS && names->accuracy)
            scalars[n++] = (Scalar){ names->accuracy, group, loss_sums_accuracy(sums, h) };
    }
    if (loss_sums_heads(sums) > 1)
        add_scalars(metrics, line, scalars, n, step);
}

/* Megatron-LM's series, if they are asked for. */
static void add_megatron(Metrics *metrics, const TrainRecord *train, const ValidRecord *valid)
{
    GError *problem = NULL;
    if (!metrics->config.megatron_series)
        return;
    if ((train ? megatron_series_train(metrics->events, train, &problem)
               : megatron_series_valid(metrics->events, valid, &problem)))
        io_flush(metrics->events, &problem);
    note_problem(&metrics->series, problem);
}

/* The norms of layers, which only TensorBoard gets. */
static void add_layers(Metrics *metrics, const Norms *norms, int64_t step)
{
    GError *problem = NULL;
    for (int i = 0; i < norms->n_layers && !problem; i++) {
        const LayerNorms *layer = &norms->layers[i];
        g_autofree char *param = g_strconcat("param_norm/", layer->name, NULL),
                        *gradient = g_strconcat("grad_norm/", layer->name, NULL);
        if (events_scalar(metrics->events, param, step, layer->param, &problem) && isfinite(layer->gradient))
            events_scalar(metrics->events, gradient, step, layer->gradient, &problem);
    }
    if (!problem)
        io_flush(metrics->events, &problem);
    note_problem(&metrics->series, problem);
}

static void add_norms(Metrics *metrics, json_t *line, const TrainRecord *record)
{
    if (!record->norms)
        return;
    const Scalar scalars[] = { { "param_norm", "train", record->norms->model.param },
                               { "zero_gradients", "train", record->norms->model.zeros } };
    add_scalars(metrics, line, scalars, G_N_ELEMENTS(scalars), record->state->attempts);
    if (metrics->config.norms == NORMS_LAYERS)
        add_layers(metrics, record->norms, record->state->attempts);
}

void metrics_update(Metrics *metrics, int64_t tokens)
{
    if (metrics)
        fairseq_log_step(metrics->fairseq, tokens);
}

void metrics_train(Metrics *metrics, const TrainRecord *record)
{
    if (metrics == NULL)
        return;
    const TrainState *state = record->state;
    const LossSums *window = &state->window;
    json_t *line = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "kind", "train", "step", (json_int_t)state->attempts,
                             "updates", (json_int_t)state->updates, "samples", (json_int_t)state->samples, "tokens",
                             (json_int_t)state->tokens, "target_tokens", (json_int_t)state->target_tokens);
    const HeadId main = loss_sums_main(window);
    const HeadSums *rows = &window->head[main];
    const PeakRate *peak = &record->peak;
    double median = peak->median > 0 ? peak->median : NAN;
    const Scalar scalars[] = {
        { "loss", "train", loss_sums_total(window) },
        { "nll", "train", loss_names(main)->accuracy ? rows->nll / rows->weight : (double)NAN },
        { "accuracy", "train", record_accuracy(window) },
        { "lr", "train", record->lr },
        { "grad_norm", "train", record->grad_norm },
        { "tokens_per_s", "perf", record->tokens_per_s },
        { "step_s", "perf", record->step_s },
        { "flops_per_s", "perf", record->flops_per_s },
        { "mfu", "perf", record_mfu(record) },
        { "peak_flops_per_s", "perf", median },
        { "peak_spread", "perf", (peak->high - peak->low) / median },
        { "data_wait", "perf", record->data_wait },
        { "fill", "perf", record->fill },
        { "memory", "perf", record->memory > 0 ? record->memory : (double)NAN },
    };
    const Scalar loss_scale = { "loss_scale", "train", record->loss_scale };
    const Scalar exchange[] = { { "comm_wait", "perf", record->comm_wait },
                                { "sent_bytes", "perf", record->sent_bytes } };
    const Straggler *straggler = record->straggler;
    add_scalars(metrics, line, scalars, G_N_ELEMENTS(scalars), state->attempts);
    if (state->skipped_samples > 0)
        json_object_set_new(line, "skipped_samples", json_integer(state->skipped_samples));
    if (record->loss_scale > 0)
        add_scalars(metrics, line, &loss_scale, 1, state->attempts);
    if (record->sent_bytes > 0)
        add_scalars(metrics, line, exchange, G_N_ELEMENTS(exchange), state->attempts);
    if (straggler) {
        const Scalar slowest[] = { { "slowest_rank", "perf", straggler->rank },
                                   { "slowest_factor", "perf", straggler->factor } };
        add_scalars(metrics, line, slowest, G_N_ELEMENTS(slowest), state->attempts);
    }
    add_heads(metrics, line, "train", window, state->attempts);
    add_norms(metrics, line, record);
    add_megatron(metrics, record, NULL);
    write_line(metrics, line);
    console_train(metrics->config.format, record);
    fairseq_log_line(metrics->fairseq, record);
}

void metrics_valid(Metrics *metrics, const ValidRecord *record)
{
    if (metrics == NULL)
        return;
    const char *name = record->name;
    const LossSums *sums = record->sums;
    const int64_t step = record->step;
    g_autofree char *group = name ? g_strdup_printf("valid/%s", name) : g_strdup("valid");
    json_t *line =
        json_pack("{s:s, s:I, s:s, s:I}", "kind", "valid", "step", (json_int_t)step, "name", name ? name : "valid",
                  "target_tokens", (json_int_t)sums->head[loss_sums_main(sums)].weight);
    const Scalar scalars[] = {
        { "loss", group, loss_sums_total(sums) },
        { "perplexity", group, record_perplexity(sums) },
        { "accuracy", group, record_accuracy(sums) },
        { "bits_per_byte", group, record->bits_per_byte },
    };
    add_scalars(metrics, line, scalars, G_N_ELEMENTS(scalars), step);
    add_heads(metrics, line, group, sums, step);
    json_object_set_new(line, "seconds", json_real(record->seconds));
    add_megatron(metrics, NULL, record);
    write_line(metrics, line);
    console_valid(metrics->config.format, record);
}

void metrics_scores(Metrics *metrics, int64_t step, const char *name, const GArray *scores, int64_t n, double seconds)
{
    if (metrics == NULL)
        return;
    g_autoptr(GString) shown = g_string_new(NULL);
    g_autofree char *group = name ? g_strdup_printf("score/%s", name) : g_strdup("score");
    json_t *line = json_pack("{s:s, s:I, s:s*, s:I}", "kind", "score", "step", (json_int_t)step, "name", name,
                             "examples", (json_int_t)n);
    for (guint i = 0; i < scores->len; i++) {
        const Metric *metric = &g_array_index(scores, Metric, i);
        const Scalar scalar = { metric->name, group, metric->value };
        add_scalars(metrics, line, &scalar, 1, step);
        if (metric_is_main(metric->name))
            g_string_append_printf(shown, "  %s %.2f", metric->name, metric->value);
    }
    json_object_set_new(line, "seconds", json_real(seconds));
    write_line(metrics, line);
    log_info("step %" PRId64 "%s%s%s", step, shown->str, name ? "  " : "", name ? name : "");
}

void metrics_save(Metrics *metrics, int64_t step, const char *folder, double seconds, double stall)
{
    if (metrics == NULL)
        return;
    g_autofree char *name = g_path_get_basename(folder);
    write_line(metrics, json_pack("{s:s, s:I, s:s, s:f, s:f}", "kind", "save", "step", (json_int_t)step, "checkpoint",
                                  name, "seconds", seconds, "stall_s", stall));
    log_info("step %" PRId64 "  saved %s (%.1fs)", step, folder, seconds);
}

static json_t *event_of(int64_t step, const char *what)
{
    g_autofree char *text = g_utf8_make_valid(what, -1); /* `what` may contain a file name that is not UTF-8 */
    return json_pack("{s:s, s:I, s:s}", "kind", "event", "step", (json_int_t)step, "what", text);
}

void metrics_event(Metrics *metrics, int64_t step, const char *what)
{
    if (metrics)
        write_line(metrics, event_of(step, what));
}

void metrics_failure(Metrics *metrics, int64_t step, const char *what)
{
    json_t *event = metrics ? event_of(step, what) : NULL;
    if (event == NULL)
        return;
    json_object_set_new(event, "failed", json_true());
    write_line(metrics, event);
}

void metrics_start(Metrics *metrics, int64_t step, const char *what, json_t *start)
{
    write_line(metrics, json_pack("{s:s, s:I, s:s, s:o}", "kind", "event", "step", (json_int_t)step, "what", what,
                                  "start", start));
}

void metrics_samples(Metrics *metrics, int64_t step, const char *name, const char *markdown)
{
    GError *problem = NULL;
    if (metrics == NULL)
        return;
    g_autofree char *tag = name ? g_strdup_printf("samples/%s", name) : g_strdup("samples");
    if (events_text(metrics->events, tag, step, markdown, &problem))
        io_flush(metrics->events, &problem);
    note_problem(&metrics->series, problem);
    g_autofree char *some = g_strndup(markdown, SAMPLES_BYTES), *text = g_utf8_make_valid(some, -1);
    write_line(metrics, json_pack("{s:s, s:I, s:s, s:s}", "kind", "sample", "step", (json_int_t)step, "name",
                                  name ? name : "", "text", text));
}

typedef struct Params {
    Metrics *metrics;
    const Config *config;
} Params;

static void add_param(const OptionRow *row, const char *accepts, gpointer data)
{
    GError *problem = NULL;
    const Params *params = data;
    (void)accepts;
    g_autofree char *value = options_plain_value(config_options(), params->config, row);
    if (!params->metrics->store.failing) {
        mlflow_param(params->metrics->mlflow, row->name, value, &problem);
        note_problem(&params->metrics->store, problem);
    }
}

void metrics_options(Metrics *metrics, int64_t step, const Config *config)
{
    if (metrics == NULL)
        return;
    GError *problem = NULL;
    g_autofree char *yaml = options_to_yaml(config_options(), config);
    g_auto(GStrv) lines = g_strsplit(yaml, "\n", -1);
    /* Indented by 4 spaces, Markdown shows the text as a code block with its line breaks. */
    g_autofree char *body = g_strjoinv("\n    ", lines);
    g_autofree char *text = g_strconcat("    ", body, NULL);
    if (events_text(metrics->events, "options", step, text, &problem))
        io_flush(metrics->events, &problem);
    note_problem(&metrics->series, problem);
    Params params = { metrics, config };
    if (metrics->mlflow)
        options_each(config_options(), add_param, &params);
}

bool metrics_keep(const char *dir, const char *to, GError **error)
{
    return mlflow_keep(dir, to, error);
}

bool metrics_put_back(const char *dir, const char *from, GError **error)
{
    return mlflow_put_back(dir, from, error);
}
