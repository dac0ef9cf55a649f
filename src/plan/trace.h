/* trace.h: writes the events of a profile, and the collectives of the ranks beside them, as a trace for Perfetto
 * (ui.perfetto.dev) or chrome://tracing. */
#pragma once

#include "comm/mesh.h"
#include "device/profile.h"

/* Fails if trace_write will not be able to write to PATH. Call it before a long job. */
bool trace_check(const char *path, GError **error);
/* The collectives of all ranks in a traced step. */
typedef struct TraceRanks {
    Mesh mesh;
    double start; /* clock_seconds() at the start of this rank's step */
    GArray *rows; /* TraceRow, of all ranks, after trace_ranks_end */
    /* busy: seconds that this rank's collectives took, added up; idle: seconds that the rank waited for collectives. */
    double busy, idle;
} TraceRanks;

/* From now on records this rank's collectives over replicas, tensor- and context-parallel ranks, not messages between
 * pipeline stages. All ranks of the mesh call it before a step; a barrier in it aligns their clocks. */
void trace_ranks_begin(TraceRanks *ranks, const Mesh *mesh);
/* Ends the recording and sends all events to all ranks. All call it after the step. Fails if a rank has failed. */
bool trace_ranks_end(TraceRanks *ranks, GError **error);
void trace_ranks_clear(TraceRanks *ranks);
/* The share of the time of this rank's collectives that overlapped with its computation, between 0 and 1. */
double trace_ranks_hidden(const TraceRanks *ranks);

/* Writes PATH: a JSON array with an object {"name", "cat", "ph": "X", "ts", "dur", "pid", "tid", "args"} per event.
 * "cat" is "phase", "operation" or "communication"; "ts" (since the first event) and "dur" are in microseconds. Row 1
 * ("tid") has the events of `profile`, by start: "args" holds "flops", "bytes" and, for an operation, the "shapes" of
 * its tensors. Phases contain operations and other phases by their times; the first event is the whole step. Further
 * rows have the collectives of each rank, with "bytes" sent, and an object of "ph": "M" that names the row; ranks NULL
 * means none. An older trace at PATH is replaced; any other file that is not empty is an error. */
bool trace_write(const char *path, const Profile *profile, const TraceRanks *ranks, GError **error);
