/* trace.h: writes the events of a profile as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing. */
#pragma once

#include "device/profile.h"

#include <glib.h>

/* Fails if trace_write could not write to PATH; to be called before a long job. */
bool trace_check(const char *path, GError **error);
/* Writes PATH: a JSON array with an object {"name", "cat", "ph": "X", "ts", "dur", "pid", "tid", "args"} per event,
 * ordered by start time. "cat" is "phase" or "operation"; "ts" (since the first event) and "dur" are in microseconds;
 * "args" holds "flops", "bytes" and, for an operation, the "shapes" of its tensors. Phases contain operations and other
 * phases by their times; the first event is the whole step. An older trace at PATH is replaced; any other file that is
 * not empty is an error. */
bool trace_write(const char *path, const Profile *profile, GError **error);
