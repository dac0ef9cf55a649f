#include "base/file.h"
#include "train/services/service.h"

#include <string.h>

#define FILE_NAME     "metrics.jsonl"
#define SAMPLES_BYTES 32768 /* of a text in metrics.jsonl */

struct Jsonl {
    IoFile *file;
    Sink sink;
    double wall_before; /* seconds that earlier processes of this run trained */
    double opened;      /* clock_seconds() when jsonl_open was called */
};

/* ---- the lines that a resumed run keeps ---- */

/* The largest "wall_s" of the lines up to step `last`. */
typedef struct Wall {
    int64_t last;
    double seconds;
} Wall;

static int64_t read_logged_step(const char *line, size_t bytes, void *context)
{
    Wall *wall = context;
    json_auto_t *object = metric_record(line, bytes);
    const int64_t step = metric_step(object);
    if (step >= 0 && step <= wall->last)
        wall->seconds = MAX(wall->seconds, json_number_value(json_object_get(object, "wall_s")));
    return step;
}

Jsonl *jsonl_open(const char *dir, int64_t step, GError **error)
{
    g_autofree char *path = g_build_filename(dir, FILE_NAME, NULL);
    Wall wall = { step, 0 };
    int64_t damaged;
    IoFile *file = log_cut(path, step, read_logged_step, &wall, &damaged, error) ? io_append(path, error) : NULL;
    if (file == NULL)
        return NULL;
    if (damaged > 0)
        log_warning("%s: %" PRId64 " of its lines cannot be read and are removed", path, damaged);
    Jsonl *jsonl = g_new(Jsonl, 1);
    *jsonl = (Jsonl){ file, { FILE_NAME, false }, wall.seconds, clock_seconds() };
    return jsonl;
}

void jsonl_close(Jsonl *jsonl)
{
    io_close(jsonl->file, true, NULL);
    g_free(jsonl);
}

/* ---- a line ---- */

/* Frees the object. */
static void write_json_line(Jsonl *jsonl, json_t *object)
{
    GError *problem = NULL;
    g_autofree char *again = io_append_again(jsonl->file);
    double here = clock_seconds() - jsonl->opened;
    if (again)
        log_warning("%s", again);
    json_object_set_new(object, "time", json_integer(g_get_real_time() / G_USEC_PER_SEC));
    json_object_set_new(object, "wall_s", json_real(jsonl->wall_before + here));
    g_autofree char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)),
                    *line = g_strconcat(text, "\n", NULL);
    json_decref(object);
    if (io_write(jsonl->file, line, strlen(line), &problem))
        io_flush(jsonl->file, &problem);
    sink_note(&jsonl->sink, problem);
}

/* JSON has no NaN. */
static json_t *number_of(const Field *field)
{
    if (field->whole)
        return json_integer((json_int_t)field->value);
    return isfinite(field->value) ? json_real(field->value) : json_null();
}

static void add_fields(json_t *line, const LogRecord *record)
{
    g_auto(Fields) fields = fields_of(record);
    for (guint i = 0; i < fields.list->len; i++) {
        const Field *field = &g_array_index(fields.list, Field, i);
        json_object_set_new(line, field->name, number_of(field));
    }
}

static void add_save(json_t *line, const SaveRecord *save)
{
    g_autofree char *name = g_path_get_basename(save->folder);
    json_object_set_new(line, "checkpoint", json_string(name));
    json_object_set_new(line, "seconds", json_real(save->seconds));
    json_object_set_new(line, "stall_s", json_real(save->stall_s));
}

static void add_event_fields(json_t *line, const EventRecord *event)
{
    g_autofree char *text = g_utf8_make_valid(event->what, -1); /* it may contain a file name that is not UTF-8 */
    json_object_set_new(line, "what", json_string(text));
    if (event->failed)
        json_object_set_new(line, "failed", json_true());
    if (event->start)
        json_object_set(line, "start", event->start);
}

static void add_samples(json_t *line, const SampleRecord *samples)
{
    g_autofree char *some = g_strndup(samples->markdown, SAMPLES_BYTES), *text = g_utf8_make_valid(some, -1);
    json_object_set_new(line, "name", json_string(samples->name ? samples->name : ""));
    json_object_set_new(line, "text", json_string(text));
}

void jsonl_write(Jsonl *jsonl, const LogRecord *record)
{
    if (record->kind == METRIC_SAVE && record->save.problem)
        return;
    json_t *line = json_pack("{s:s, s:I}", "kind", metric_kind_names[record->kind], "step", (json_int_t)record->step);
    if (record->kind == METRIC_VALID)
        json_object_set_new(line, "name", json_string(record->valid->name ? record->valid->name : "valid"));
    if (record->kind == METRIC_SCORE && record->scores.name)
        json_object_set_new(line, "name", json_string(record->scores.name));
    add_fields(line, record);
    if (record->kind == METRIC_SAMPLE)
        add_samples(line, &record->samples);
    if (record->kind == METRIC_SAVE)
        add_save(line, &record->save);
    if (record->kind == METRIC_EVENT)
        add_event_fields(line, &record->event);
    write_json_line(jsonl, line);
}

/* ---- the service ---- */

static void *jsonl_service_open(const Trainer *t, GError **error)
{
    const char *dir = t->config.run.dir;
    if (comm_rank(t->mesh.world) > 0)
        return NULL;
    if (t->start.resumed && !io_exists(dir, FILE_NAME))
        log_warning("%s/" FILE_NAME " is gone: it is made again, and holds nothing of what came before step %" PRId64,
                    dir, t->state.steps);
    return jsonl_open(dir, service_resumed(t).step, error);
}

static void jsonl_service_told(void *own, const LogRecord *record)
{
    jsonl_write(own, record);
}

const Service jsonl_service = {
    .written = FILE_NAME, .open = jsonl_service_open, .told = jsonl_service_told, .free = (GDestroyNotify)jsonl_close
};
