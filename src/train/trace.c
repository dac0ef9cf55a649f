#include "train/trace.h"

#include "base/error.h"
#include "base/file.h"

#include <jansson.h>

#define START "[\n{\"name\":\"step" /* of every trace: its first event is the step */

static json_t *object_of(const ProfileEvent *event, double start)
{
    json_t *args = json_pack("{s:f, s:f}", "flops", event->flops, "bytes", event->bytes);
    g_autofree char *name =
        event->number < 0 ? g_strdup(event->name) : g_strdup_printf("%s %d", event->name, event->number);
    if (!event->is_phase)
        json_object_set_new(args, "shapes", json_string(event->shapes));
    return json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:o}", "name", name, "cat",
                     event->is_phase ? "phase" : "operation", "ph", "X", "ts", (event->start - start) * 1e6, "dur",
                     event->seconds * 1e6, "pid", 1, "tid", 1, "args", args);
}

static bool check_replaces(const char *path, GError **error)
{
    return io_check_replaces(path, START, "trace of loam", error);
}

bool trace_check(const char *path, GError **error)
{
    return io_check_writable(path, error) && check_replaces(path, error);
}

bool trace_write(const char *path, const Profile *profile, GError **error)
{
    g_autoptr(GString) text = g_string_new("[");
    for (size_t i = 0; i < profile->n_events; i++) {
        json_t *object = object_of(&profile->events[i], profile->events[0].start);
        char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12));
        g_string_append_printf(text, "%s\n%s", i ? "," : "", line);
        free(line);
        json_decref(object);
    }
    g_string_append(text, "\n]\n");
    return check_replaces(path, error) && io_write_file(path, text->str, text->len, error);
}
