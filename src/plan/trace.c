#include "plan/trace.h"

#include "base/clock.h"
#include "base/file.h"

#include <jansson.h>

#define START "[\n{\"name\":\"step" /* every trace starts with this: the first event is the whole step */

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

bool trace_check(const char *path, GError **error)
{
    return io_check_writable(path, error) && io_check_replaces(path, START, "trace of loam", error);
}

/* ---- ranks ---- */

enum { GROUP_DATA, GROUP_TENSOR, GROUP_CONTEXT, GROUPS };

/* The collectives of one rank in one group. */
typedef struct TraceRow {
    int rank, group;
    GArray *events; /* CommEvent, whose start counts from the start of the rank's step */
} TraceRow;

static void clear_row(void *row)
{
    g_array_unref(((TraceRow *)row)->events);
}

void trace_ranks_begin(TraceRanks *ranks, const Mesh *mesh)
{
    *ranks = (TraceRanks){ .mesh = *mesh, .idle = -mesh_waited_s(mesh) };
    ranks->rows = g_array_new(false, false, sizeof(TraceRow));
    g_array_set_clear_func(ranks->rows, clear_row);
    comm_barrier(mesh->world);
    ranks->start = clock_seconds();
    comm_record(mesh->replicas);
    comm_record(mesh->tensor);
    comm_record(mesh->context);
}

/* Sends this rank's events in one group (data or tensor) to all ranks, and adds one row per rank. */
static void share_events(TraceRanks *ranks, int group, const GArray *own)
{
    Comm *world = ranks->mesh.world;
    size_t bytes;
    for (guint i = 0; i < own->len; i++) {
        CommEvent *event = &g_array_index(own, CommEvent, i);
        ranks->busy += event->seconds;
        event->start -= ranks->start;
    }
    g_autofree CommEvent *all = (void *)comm_gather(world, own->data, own->len * sizeof *all, &bytes);
    const size_t n = bytes / sizeof *all;
    for (int r = 0; n > 0 && r < comm_size(world); r++) {
        TraceRow row = { r, group, g_array_new(false, false, sizeof(CommEvent)) };
        for (size_t i = 0; i < n && all[(size_t)r * n + i].seconds > 0; i++)
            g_array_append_val(row.events, all[(size_t)r * n + i]);
        g_array_append_val(ranks->rows, row);
    }
}

bool trace_ranks_end(TraceRanks *ranks, GError **error)
{
    g_autoptr(GArray) data = comm_recorded(ranks->mesh.replicas), tensor = comm_recorded(ranks->mesh.tensor),
                      context = comm_recorded(ranks->mesh.context);
    ranks->idle += mesh_waited_s(&ranks->mesh);
    share_events(ranks, GROUP_DATA, data);
    share_events(ranks, GROUP_TENSOR, tensor);
    share_events(ranks, GROUP_CONTEXT, context);
    return mesh_check(&ranks->mesh, error);
}

void trace_ranks_clear(TraceRanks *ranks)
{
    g_clear_pointer(&ranks->rows, g_array_unref);
}

double trace_ranks_hidden(const TraceRanks *ranks)
{
    return ranks->busy > 0 ? fmax(0, 1 - ranks->idle / ranks->busy) : 1;
}

static void append_event_line(GString *text, json_t *object)
{
    g_autofree char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12));
    g_string_append_printf(text, "%s\n%s", text->len > 1 ? "," : "", line);
    json_decref(object);
}

/* offset: seconds from the first event of the trace to the start of the ranks' step. */
static void append_row(GString *text, const TraceRow *row, double offset)
{
    static const char *const groups[GROUPS] = { "communication", "tensor-parallel communication",
                                                "context-parallel communication" };
    const int tid = 2 + row->rank * GROUPS + row->group;
    g_autofree char *title = g_strdup_printf("rank %d: %s", row->rank, groups[row->group]);
    if (row->events->len == 0)
        return;
    append_event_line(text, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", "thread_name", "ph", "M", "pid", 1,
                                      "tid", tid, "args", "name", title));
    for (guint i = 0; i < row->events->len; i++) {
        const CommEvent *event = &g_array_index(row->events, CommEvent, i);
        g_autofree char *name = g_strdup_printf("%s %u", comm_event_names[event->kind], i);
        append_event_line(text, json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:{s:I}}", "name", name, "cat",
                                          "communication", "ph", "X", "ts", (event->start + offset) * 1e6, "dur",
                                          event->seconds * 1e6, "pid", 1, "tid", tid, "args", "bytes",
                                          (json_int_t)event->bytes));
    }
}

bool trace_write(const char *path, const Profile *profile, const TraceRanks *ranks, GError **error)
{
    const double start = profile->events[0].start;
    g_autoptr(GString) text = g_string_new("[");
    for (size_t i = 0; i < profile->n_events; i++)
        append_event_line(text, object_of(&profile->events[i], start));
    for (guint i = 0; ranks && ranks->rows && i < ranks->rows->len; i++)
        append_row(text, &g_array_index(ranks->rows, TraceRow, i), ranks->start - start);
    g_string_append(text, "\n]\n");
    return io_check_replaces(path, START, "trace of loam", error) && io_write_file(path, text->str, text->len, error);
}
