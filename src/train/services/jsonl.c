#include "train/services/jsonl.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "run/metric_lines.h"
#include "train/services/fields.h"
#include "train/services/service.h"
#include "train/services/sink.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME     "metrics.jsonl"
#define SAMPLES_BYTES 32768 /* of a text in metrics.jsonl */

struct Jsonl {
    IoFile *file;
    Sink sink;
    double wall_before; /* seconds that earlier processes of this run trained */
    double opened;      /* clock_seconds() when jsonl_open was called */
};

/* ---- the lines that a resumed run keeps ---- */

/* The "step" of a line of metrics.jsonl, or -1 if the line is not valid. *wall becomes its "wall_s" if that is larger.
 */
static int64_t read_logged_line(const char *line, size_t bytes, double *wall)
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
        int64_t step = read_logged_line(line, (size_t)n, &wall);
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

Jsonl *jsonl_open(const char *dir, int64_t step, GError **error)
{
    g_autofree char *path = g_build_filename(dir, FILE_NAME, NULL);
    double wall = 0;
    IoFile *file = cut_lines(path, step, &wall, error) ? io_append(path, error) : NULL;
    if (file == NULL)
        return NULL;
    Jsonl *jsonl = g_new(Jsonl, 1);
    *jsonl = (Jsonl){ file, { FILE_NAME, false }, wall, clock_seconds() };
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
    g_autoptr(GString) line = g_string_new(NULL);
    g_autofree char *again = io_append_again(jsonl->file);
    double here = clock_seconds() - jsonl->opened;
    if (again)
        log_warning("%s", again);
    json_object_set_new(object, "time", json_integer(g_get_real_time() / G_USEC_PER_SEC));
    json_object_set_new(object, "wall_s", json_real(jsonl->wall_before + here));
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    g_string_append_printf(line, "%s\n", text);
    free(text);
    json_decref(object);
    if (io_write(jsonl->file, line->str, line->len, &problem))
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
    Fields fields = fields_of(record);
    for (guint i = 0; i < fields.list->len; i++) {
        const Field *field = &g_array_index(fields.list, Field, i);
        json_object_set_new(line, field->name, number_of(field));
    }
    fields_clear(&fields);
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
    static const char *const kinds[] = {
        [RECORD_TRAIN] = "train",    [RECORD_VALID] = "valid", [RECORD_SCORES] = "score",
        [RECORD_SAMPLES] = "sample", [RECORD_SAVE] = "save",   [RECORD_EVENT] = "event"
    };
    if (record->kind == RECORD_SAVE && record->save.problem)
        return;
    json_t *line = json_pack("{s:s, s:I}", "kind", kinds[record->kind], "step", (json_int_t)record->step);
    if (record->kind == RECORD_VALID)
        json_object_set_new(line, "name", json_string(record->valid->name ? record->valid->name : "valid"));
    if (record->kind == RECORD_SCORES && record->scores.name)
        json_object_set_new(line, "name", json_string(record->scores.name));
    add_fields(line, record);
    if (record->kind == RECORD_SAMPLES)
        add_samples(line, &record->samples);
    if (record->kind == RECORD_SAVE)
        add_save(line, &record->save);
    if (record->kind == RECORD_EVENT)
        add_event_fields(line, &record->event);
    write_json_line(jsonl, line);
}

/* ---- the service ---- */

static void *jsonl_service_open(const Trainer *t, GError **error)
{
    return comm_rank(t->mesh.world) > 0 ? NULL : jsonl_open(t->config.run.dir, service_resumed(t).step, error);
}

static void jsonl_service_told(void *own, const LogRecord *record)
{
    jsonl_write(own, record);
}

static void jsonl_service_close(void *own, const Trainer *t, const GError *problem)
{
    (void)t, (void)problem;
    jsonl_close(own);
}

const Service jsonl_service = {
    .file = FILE_NAME, .open = jsonl_service_open, .told = jsonl_service_told, .close = jsonl_service_close
};
