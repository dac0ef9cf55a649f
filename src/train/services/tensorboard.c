#include "train/services/tensorboard.h"

#include "base/file.h"
#include "base/log.h"
#include "format/events.h"
#include "train/services/fields.h"
#include "train/services/megatron_series.h"
#include "train/services/service.h"
#include "train/services/sink.h"

#include <math.h>

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
    Fields fields = fields_of(record);
    bool good = true;
    for (guint i = 0; good && i < fields.list->len; i++) {
        const Field *field = &g_array_index(fields.list, Field, i);
        if (field->group == NULL || !isfinite(field->value))
            continue;
        g_autofree char *tag = g_strdup_printf("%s/%s", field->group, field->name);
        good = events_scalar(events, tag, record->step, field->value, error);
    }
    fields_clear(&fields);
    return good;
}

/* The norms of layers. */
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

static bool write_record(const TensorBoard *board, const LogRecord *record, GError **error)
{
    const LogConfig *config = &board->config;
    IoFile *events = board->events;
    if (record->kind == RECORD_SAMPLES)
        return write_samples(events, record, error);
    if (!write_fields(events, record, error))
        return false;
    if (record->kind == RECORD_TRAIN && record->train->norms && config->norms == NORMS_LAYERS &&
        !write_layers(events, record->train->norms, record->step, error))
        return false;
    if (!config->megatron_series)
        return true;
    return record->kind == RECORD_TRAIN   ? megatron_series_train(events, record->train, error)
           : record->kind == RECORD_VALID ? megatron_series_valid(events, record->valid, error)
                                          : true;
}

void tensorboard_write(TensorBoard *board, const LogRecord *record)
{
    GError *problem = NULL;
    if (record->kind == RECORD_SAVE || record->kind == RECORD_EVENT)
        return;
    g_autofree char *again = events_again(board->events, &problem);
    if (again)
        log_warning("%s", again);
    if (!problem && write_record(board, record, &problem))
        io_flush(board->events, &problem);
    sink_note(&board->sink, problem);
}

/* The whole configuration as text. */
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

static void tensorboard_service_close(void *own, const Trainer *t, const GError *problem)
{
    (void)t, (void)problem;
    tensorboard_close(own);
}

const Service tensorboard_service = { .folder = "tb",
                                      .open = tensorboard_service_open,
                                      .told = tensorboard_service_told,
                                      .close = tensorboard_service_close };
