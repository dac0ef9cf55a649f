#include "format/events.h"
#include "train/services/service.h"

struct TensorBoard {
    IoFile *events;
    Sink sink;
    LogConfig config;
};

TensorBoard *tensorboard_open(const char *dir, RunPoint at, const LogConfig *config, GError **error)
{
    g_autofree char *tb = g_build_filename(dir, "tb", NULL);
    const bool cut = io_make_directories(tb, error) && events_cut(tb, at.step, at.samples, error);
    IoFile *events = cut ? events_open(tb, error) : NULL;
    if (events == NULL)
        return NULL;
    TensorBoard *board = g_new(TensorBoard, 1);
    *board = (TensorBoard){ events, { "tb/", false }, *config };
    return board;
}

void tensorboard_close(TensorBoard *board)
{
    events_close(board->events);
    g_free(board);
}

static bool write_fields(IoFile *events, const LogRecord *record, GError **error)
{
    g_auto(Fields) fields = fields_of(record);
    bool good = true;
    for (guint i = 0; good && i < fields.list->len; i++) {
        const Field *field = &g_array_index(fields.list, Field, i);
        if (field->group == NULL || !isfinite(field->value))
            continue;
        g_autofree char *tag = g_strdup_printf("%s/%s", field->group, field->name);
        good = events_scalar(events, tag, record->step, field->value, error);
    }
    return good;
}

static bool write_layers(IoFile *events, const Norms *norms, int64_t step, GError **error)
{
    for (int i = 0; i < norms->n_layers; i++) {
        const LayerNorms *layer = &norms->layers[i];
        g_autofree char *param = g_strconcat("param_norm/", layer->name, NULL),
                        *gradient = g_strconcat("grad_norm/", layer->name, NULL);
        if (!events_scalar(events, param, step, layer->param, error) ||
            (isfinite(layer->gradient) && !events_scalar(events, gradient, step, layer->gradient, error)))
            return false;
    }
    return true;
}

static bool write_samples(IoFile *events, const LogRecord *record, GError **error)
{
    const char *name = record->samples.name;
    g_autofree char *tag = name ? g_strdup_printf("samples/%s", name) : g_strdup("samples");
    return events_text(events, tag, record->step, record->samples.markdown, error);
}

/* ---- Megatron-LM's series (log.megatron_series): by its names, each against the iteration, and again, with " vs
 * samples" after its name, against the samples read so far. Losses are in nats; numbers that are not finite are left
 * out.
 * ---- */

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

static bool write_megatron_train(IoFile *events, const TrainRecord *record, GError **error)
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

/* A held-out set without a name has "lm loss validation", a set NAME "lm-loss-validation/NAME/lm loss validation". */
static bool write_megatron_valid(IoFile *events, const ValidRecord *record, GError **error)
{
    const Place place = { events, record->step, record->train_samples };
    const double loss = loss_sums_total(record->sums);
    g_autofree char *name = record->name ? g_strdup_printf("lm-loss-validation/%s/lm loss validation", record->name)
                                         : g_strdup("lm loss validation"),
                    *perplexity = g_strconcat(name, " ppl", NULL);
    return put_point(&place, name, loss, error) && put_point(&place, perplexity, megatron_perplexity(loss), error);
}

/* ---- a record ---- */

static bool write_record(const TensorBoard *board, const LogRecord *record, GError **error)
{
    const LogConfig *config = &board->config;
    IoFile *events = board->events;
    if (record->kind == METRIC_SAMPLE)
        return write_samples(events, record, error);
    if (!write_fields(events, record, error))
        return false;
    if (record->kind == METRIC_TRAIN && record->train->norms && config->norms == NORMS_LAYERS &&
        !write_layers(events, record->train->norms, record->step, error))
        return false;
    if (!config->megatron_series)
        return true;
    return record->kind == METRIC_TRAIN   ? write_megatron_train(events, record->train, error)
           : record->kind == METRIC_VALID ? write_megatron_valid(events, record->valid, error)
                                          : true;
}

void tensorboard_write(TensorBoard *board, const LogRecord *record)
{
    GError *problem = NULL;
    if (record->kind == METRIC_SAVE || record->kind == METRIC_EVENT)
        return;
    g_autofree char *again = events_again(board->events, &problem);
    if (again)
        log_warning("%s", again);
    if (!problem && write_record(board, record, &problem))
        io_flush(board->events, &problem);
    sink_note(&board->sink, problem);
}

static void write_options(TensorBoard *board, int64_t step, const Config *config)
{
    GError *problem = NULL;
    g_autofree char *yaml = options_to_yaml(config_options(), config);
    g_auto(GStrv) lines = g_strsplit(yaml, "\n", -1);
    /* Indented by 4 spaces, Markdown shows the text as a code block with its line breaks. */
    g_autofree char *body = g_strjoinv("\n    ", lines);
    g_autofree char *text = g_strconcat("    ", body, NULL);
    if (events_text(board->events, "options", step, text, &problem))
        io_flush(board->events, &problem);
    sink_note(&board->sink, problem);
}

static void *tensorboard_service_open(const Trainer *t, GError **error)
{
    if (comm_rank(t->mesh.world) > 0)
        return NULL;
    const bool ended = trainer_had_ended(t);
    const LogConfig none = { 0 };
    TensorBoard *board = tensorboard_open(t->config.run.dir, service_resumed(t), ended ? &none : &t->config.log, error);
    if (board && !ended)
        write_options(board, t->state.steps, &t->config);
    return board;
}

static void tensorboard_service_told(void *own, const LogRecord *record)
{
    tensorboard_write(own, record);
}

const Service tensorboard_service = { .written = "tb",
                                      .open = tensorboard_service_open,
                                      .told = tensorboard_service_told,
                                      .free = (GDestroyNotify)tensorboard_close };
