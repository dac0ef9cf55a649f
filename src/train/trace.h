/* trace.h: writes the events of a profile as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing show. */
#pragma once

#include "device/profile.h"

#include <glib.h>

/* Fails if trace_write(PATH) would: to be called before a long job. */
bool trace_check(const char *path, GError **error);
/* Writes PATH: a JSON array with an object {"name", "cat", "ph": "X", "ts", "dur", "pid", "tid", "args"} for each event
 * in the order of their starts; "cat" is "phase" or "operation"; "ts", from the first event on, and "dur" are in
 * microseconds; "args" holds "flops" and "bytes", and "shapes" of an operation's tensors. Phases contain each other and
 * the operations by their times. The first event is the step. A trace of before is replaced; any other file with
 * content is an error. */
bool trace_write(const char *path, const Profile *profile, GError **error);
