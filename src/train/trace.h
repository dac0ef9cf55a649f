/* trace.h: writes the events of a profile, and the collectives of the ranks beside them, as a trace for Perfetto
 * (ui.perfetto.dev) or chrome://tracing. */
#pragma once

#include "comm/mesh.h"
#include "device/profile.h"

#include <glib.h>

/* Fails if trace_write could not write to PATH; to be called before a long job. */
bool trace_check(const char *path, GError **error);
/* What the ranks sent to each other in a traced step. */
typedef struct TraceRanks {
    Mesh mesh;
    double start;      /* of this rank's step, in seconds of clock_seconds() */
    GArray *rows;      /* TraceRow, of all ranks, after trace_ranks_end */
    double busy, idle; /* of this rank: seconds in collectives, and those of them in which it waited for one */
} TraceRanks;

/* Keeps the collectives from now on; all ranks of the mesh call it, before a step. Their clocks are aligned here. */
void trace_ranks_begin(TraceRanks *ranks, const Mesh *mesh);
/* Ends it, and shares the events among the ranks; all of them call it, after the step. Fails if a rank has failed. */
bool trace_ranks_end(TraceRanks *ranks, GError **error);
void trace_ranks_clear(TraceRanks *ranks);
/* The share of the time of this rank's collectives that lay beside its computation, between 0 and 1. */
double trace_ranks_hidden(const TraceRanks *ranks);

/* Writes PATH: a JSON array with an object {"name", "cat", "ph": "X", "ts", "dur", "pid", "tid", "args"} per event.
 * "cat" is "phase", "operation" or "communication"; "ts" (since the first event) and "dur" are in microseconds. Row 1
 * ("tid") has the events of `profile` in the order of their starts: "args" holds "flops", "bytes" and, for an
 * operation, the "shapes" of its tensors. Phases contain operations and other phases by their times; the first event is
 * the whole step. Further rows have the collectives of each rank, with "bytes" sent, and an object of "ph": "M" that
 * names the row; ranks NULL means none. An older trace at PATH is replaced; any other file that is not empty is an
 * error. */
bool trace_write(const char *path, const Profile *profile, const TraceRanks *ranks, GError **error);
